package message

// Usage counts the tokens of one answer. A missing usage reads as zero.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	// CacheWrite1h is the part of CacheWrite that the cache keeps for an hour.
	CacheWrite1h int64 `json:"cacheWrite1h,omitempty"`
	Reasoning    int64 `json:"reasoning,omitempty"` // already inside Output
	TotalTokens  int64 `json:"totalTokens"`
	Cost         Cost  `json:"cost"`
}

// Cost is in US dollars.
type Cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

// Plus adds two usages up.
func (u Usage) Plus(o Usage) Usage {
	u.Input, u.Output, u.CacheRead, u.CacheWrite = u.Input+o.Input, u.Output+o.Output, u.CacheRead+o.CacheRead, u.CacheWrite+o.CacheWrite
	u.CacheWrite1h += o.CacheWrite1h
	u.Reasoning, u.TotalTokens = u.Reasoning+o.Reasoning, u.TotalTokens+o.TotalTokens
	u.Cost.Input, u.Cost.Output, u.Cost.CacheRead = u.Cost.Input+o.Cost.Input, u.Cost.Output+o.Cost.Output, u.Cost.CacheRead+o.Cost.CacheRead
	u.Cost.CacheWrite, u.Cost.Total = u.Cost.CacheWrite+o.Cost.CacheWrite, u.Cost.Total+o.Cost.Total
	return u
}
