package memory

import (
	"fmt"
	"strings"
	"testing"
)

// scripts are what is searched for in five scripts: word i stands in memory i of its
// script and in no other. The frame around it has no space before or behind the word
// where the script has none.
var scripts = []struct{ name, frame, words string }{
	{"latin", "We wrote about the %s in the report", `gateway scanner mortgage Ångström résumé naïve façade señor coördinate jalapeño
		fetchUserName memory_index.go build-agent HTTPServer sha256 v1.62.0 foo.bar README.md kubernetes postgres
		telescope umbrella violin walrus xylophone yoghurt zeppelin anchor bicycle cathedral
		dolphin elephant fountain giraffe harbour iceberg jungle kangaroo lantern mountain`},
	{"han", "昨天我们讨论了%s并且决定以后再看", `内存网关 附件映射 悬空引用 会话策略 权限检查 日志轮转 备份恢复 图像缩放 令牌桶 负载均衡
		数据库 编译器 解析树 缓存失效 死锁 线程池 协程 哈希表 红黑树 二叉堆
		咖啡 火锅 长城 故宫 熊猫 竹林 黄河 泰山 西湖 丝绸
		龙舟 月饼 灯笼 书法 围棋 京剧 太极 瓷器 茶叶 剪纸`},
	{"kana", "きのうのかいぎで%sについてはなしました", `サーバー ゲートウェイ メモリ プログラム ネットワーク データベース キーボード モニター プリンター カメラ
		さくら ひまわり もみじ たんぽぽ あさがお すいか りんご ぶどう みかん いちご
		うなぎ てんぷら おにぎり たこやき ラーメン カレーライス ケーキ チョコレート アイスクリーム ビスケット
		ロケット ヘリコプター トラック オートバイ ボート ピアノ ギター バイオリン フルート ドラム`},
	{"hangul", "어제회의에서%s에대해이야기했다", `메모리 게이트웨이 첨부파일 데이터베이스 컴파일러 네트워크 키보드 모니터 프린터 카메라
		김치 불고기 비빔밥 냉면 떡볶이 삼겹살 순두부 잡채 식혜 수정과
		호랑이 토끼 거북이 두루미 까치 고래 여우 늑대 곰돌이 다람쥐
		한라산 설악산 낙동강 경복궁 남대문 제주도 울릉도 독도섬 부산항 인천항`},
	{"cyrillic", "Вчера обсуждали слово %s на встрече", `память шлюз вложение компилятор процессор клавиатура монитор принтер камера сервер
		берёза ромашка подсолнух одуванчик василёк арбуз яблоко виноград апельсин клубника
		медведь волчица лисица заяц белка ёжик журавль ласточка снегирь синица
		самовар балалайка матрёшка пельмени блины окрошка квас пряник баранка ватрушка`},
}

// TestFiveScripts: 200 memories, a query for each, and none is missed: what was asked
// for is the first result.
func TestFiveScripts(t *testing.T) {
	s := open(t)
	total := 0
	for _, sc := range scripts {
		words := strings.Fields(sc.words)
		if len(words) != 40 {
			t.Fatalf("%s has %d words", sc.name, len(words))
		}
		for i, w := range words {
			total++
			if _, err := s.Remember(ctx, Scope{User: "local"}, Note{Session: fmt.Sprintf("%s-%d", sc.name, i), Text: fmt.Sprintf(sc.frame, w)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	missed := 0
	for _, sc := range scripts {
		for i, w := range strings.Fields(sc.words) {
			want := fmt.Sprintf("%s-%d", sc.name, i)
			for _, query := range []string{w, strings.ToUpper(w), w + " " + w} {
				f, err := s.Find(ctx, Scope{User: "local"}, query, 5)
				if err != nil || len(f.Results) == 0 || *f.Results[0].SessionID != want {
					missed++
					var got []string
					for _, r := range f.Results {
						got = append(got, r.Text)
					}
					t.Errorf("%q is not found first (%v): %q", query, err, got)
				}
			}
		}
	}
	t.Logf("%d memories, %d queries, %d missed", total, 3*total, missed)
}

// TestSearchQueriesOfTheTable holds the engine to the same table as the index.
func TestSearchQueriesOfTheTable(t *testing.T) {
	s := open(t)
	for i, text := range []string{"请看内存网关的说明", "带附件的消息", "written in Go, with care", "la sesión está cerrada", "see memory_gateway.go", "第3步重启build-agent后清理了悬空引用"} {
		if _, err := s.Remember(ctx, Scope{User: "local"}, Note{Session: fmt.Sprint(i), Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{"内存网关": "0", "网关": "0", "附": "1", "go": "2", "sesion": "3", "memory": "4", "gateway": "4", "悬空": "5", "agent": "5", "清理": "5", "空": "5", "build-agent": "5"} {
		f, err := s.Find(ctx, Scope{User: "local"}, query, 5)
		found := false
		for _, r := range f.Results {
			found = found || *r.SessionID == want
		}
		if err != nil || !found {
			t.Errorf("%q: %+v, %v", query, f.Results, err)
		}
	}
	// Nothing is syntax.
	for _, query := range []string{`foo.bar "`, "nosuchcol:foo", "a AND", "*", "%", "_", `\`, "'; DROP TABLE memories --"} {
		if _, err := s.Find(ctx, Scope{User: "local"}, query, 5); err != nil {
			t.Errorf("%q: %v", query, err)
		}
	}
	if f, err := s.Find(ctx, Scope{User: "local"}, "%", 5); err != nil || len(f.Results) != 0 {
		t.Errorf("a sign of LIKE found %d, %v", len(f.Results), err)
	}
}
