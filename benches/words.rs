//! Words and chance for made-up texts. Frequencies fall off as in real text (Zipf), so that an index built from it
//! has common and rare terms.

use std::sync::OnceLock;

/// A small generator of pseudo-random numbers (SplitMix64).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// A rank below `n`, small ones much more often.
    pub(crate) fn rank(&mut self, n: usize) -> usize {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (((n as f64 + 1.0).powf(unit)) as usize).saturating_sub(1).min(n - 1)
    }
}

pub(crate) const TOPICS: [&str; 24] = [
    "travel",
    "databases",
    "gardening",
    "deployment",
    "cooking",
    "security",
    "design",
    "hiring",
    "finance",
    "networking",
    "music",
    "health",
    "testing",
    "history",
    "writing",
    "cycling",
    "astronomy",
    "law",
    "teaching",
    "photography",
    "logistics",
    "compilers",
    "weather",
    "families",
];

const COMMON: &str = "the of and to in a is that for it as was with be by on not he his but at are this have from or \
    had an they which one you were all her she there would their we him been has when who will no more if out so up \
    said what its about than into them can only other time new some could these two may first then do any like my now \
    over such our man me even most made after also did many off before must well back through years much where your \
    way down should because long each just state those people too mr how little good world make very year still see \
    work between life without place same another while last might great go against right house never old don't";

const CONTENT: &str = "window seat flight booking preference database migration index query latency server cluster \
    deploy rollback release branch merge review proposal evidence memory agent recall summary abstract outline garden \
    tomato recipe kitchen oven budget invoice payment contract lawyer meeting calendar reminder project deadline \
    estimate design sketch colour camera lens exposure mountain river trail bicycle tyre brake engine compiler parser \
    token syntax lifetime borrow thread mutex channel queue cache eviction storage bucket object snapshot backup \
    restore replica leader election quorum protocol packet router firewall certificate password login session cookie \
    request response timeout retry failure alert dashboard metric histogram percentile budget weather storm forecast \
    telescope orbit planet galaxy teacher student lesson homework library museum history empire treaty archive letter \
    novel chapter paragraph sentence grammar translation dictionary vocabulary accent family sister brother daughter \
    birthday holiday ticket train station platform luggage passport visa hotel breakfast coffee allergy medicine doctor \
    appointment exercise running marathon sleep allergy insurance warehouse shipment container pallet inventory supplier \
    customer support refund discount campaign newsletter interview candidate offer onboarding mentor feedback promotion";

const ENDINGS: [&str; 8] = ["", "s", "ing", "ed", "er", "ly", "ness", "able"];

/// Common Chinese words of our own choosing, the frequent ones first.
const CHINESE: &str = "我们 一个 没有 可以 他们 自己 这个 时候 什么 知道 现在 因为 已经 问题 工作 需要 时间 如果 喜欢 觉得 \
    朋友 学习 使用 项目 数据 系统 服务器 数据库 部署 配置 会议 计划 用户 代码 测试 版本 错误 日志 网络 安全 密码 登录 接口 文档 \
    记忆 证据 审核 提案 合并 检索 向量 索引 分词 模型 训练 机器学习 深度学习 神经网络 程序员 工程师 航班 靠窗 座位 过敏 花生 医院 \
    医生 旅行 火车站 机场 护照 酒店 早餐 咖啡 菜谱 厨房 番茄 花园 天气 下雨 台风 预报 山路 自行车 相机 照片 博物馆 历史 图书馆 小说 \
    章节 语法 翻译 词典 家庭 妹妹 弟弟 女儿 生日 假期 预算 发票 合同 律师 客户 退款 折扣 面试 候选人 入职 反馈 升职 仓库 集装箱 \
    供应商 望远镜 行星 银河系 老师 学生 作业 马拉松 睡眠 保险 防火墙 证书 缓存 队列 线程 编译器 语法树 生命周期 快照 备份 恢复 选举";

/// How many different content words there are; the far ones are made of syllables.
const VOCABULARY: usize = 30_000;

fn split(list: &'static str, once: &'static OnceLock<Vec<&'static str>>) -> &'static [&'static str] {
    once.get_or_init(|| list.split_whitespace().collect())
}

fn common(chance: &mut Chance) -> &'static str {
    static LIST: OnceLock<Vec<&str>> = OnceLock::new();
    let list = split(COMMON, &LIST);
    list[chance.rank(list.len())]
}

/// A content word: a real one or, further down in the ranks, one made of syllables.
fn content(chance: &mut Chance) -> String {
    static LIST: OnceLock<Vec<&str>> = OnceLock::new();
    const PARTS: [&str; 20] = [
        "ka", "lo", "mi", "ren", "tor", "vex", "zan", "pel", "qui", "sor", "dra", "wen", "ux", "bri", "fo",
        "gy", "tal", "nim", "cor", "sha",
    ];
    let list = split(CONTENT, &LIST);
    let rank = chance.rank(VOCABULARY);
    match list.get(rank) {
        Some(word) => (*word).to_owned(),
        None => [rank % 20, rank / 20 % 20, rank / 400 % 20, rank / 8000].map(|at| PARTS[at]).concat(),
    }
}

fn chinese(chance: &mut Chance) -> String {
    static LIST: OnceLock<Vec<&str>> = OnceLock::new();
    let list = split(CHINESE, &LIST);
    let rank = chance.rank(8_000);
    match list.get(rank) {
        Some(word) => (*word).to_owned(),
        // Two words side by side, as compounds are.
        None => format!("{}{}", list[rank % list.len()], list[rank / list.len() % list.len()]),
    }
}

/// A word of the long tail: names and numbers that stand in few memories.
fn rare(chance: &mut Chance) -> String {
    const PARTS: [&str; 16] = [
        "ka", "lo", "mi", "ren", "tor", "vex", "zan", "pel", "qui", "sor", "dra", "wen", "ux", "bri", "fo",
        "gy",
    ];
    match chance.below(5) {
        0 => format!("ERR-{}", chance.below(5_000)),
        1 => format!("{}_{}", content(chance), content(chance)),
        _ => (0..2 + chance.below(3)).map(|_| PARTS[chance.below(16)]).collect(),
    }
}

fn word(chance: &mut Chance) -> String {
    match chance.below(20) {
        0..=8 => common(chance).to_owned(),
        9 => rare(chance),
        _ => format!("{}{}", content(chance), ENDINGS[chance.rank(8)]),
    }
}

pub(crate) fn title(_at: usize, chance: &mut Chance) -> String {
    let mut words: Vec<String> = (0..2 + chance.below(3)).map(|_| content(chance)).collect();
    if let Some(first) = words.first_mut() {
        first[..1].make_ascii_uppercase();
    }
    words.join(" ")
}

pub(crate) fn english_sentence(chance: &mut Chance) -> String {
    let words: Vec<String> = (0..8 + chance.below(12)).map(|_| word(chance)).collect();
    let mut sentence = words.join(" ");
    sentence[..1].make_ascii_uppercase();
    sentence.push('.');
    sentence
}

pub(crate) fn chinese_sentence(chance: &mut Chance) -> String {
    let mut sentence = String::new();
    for at in 0..8 + chance.below(10) {
        if at > 0 && chance.below(6) == 0 {
            sentence.push('，');
        }
        match chance.below(15) {
            0 => sentence.push_str(&content(chance)),
            1 => sentence.push_str(&rare(chance)),
            _ => sentence.push_str(&chinese(chance)),
        }
    }
    sentence.push('。');
    sentence
}

/// Queries as people type them: one to four words, some rare, some Chinese.
pub(crate) fn query(at: usize) -> String {
    let mut chance = Chance::new(at as u64 ^ 0xF00D);
    match at % 4 {
        0 => (0..2 + chance.below(2)).map(|_| chinese(&mut chance)).collect(),
        1 => rare(&mut chance),
        _ => (0..1 + chance.below(4)).map(|_| content(&mut chance)).collect::<Vec<_>>().join(" "),
    }
}
