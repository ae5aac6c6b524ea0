//! The store against a map in memory, and against brute force.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use proptest::prelude::*;

use super::scan::dot;
use super::*;

const DIMENSIONS: usize = 24;

fn form() -> Form {
    Form::of("a model", DIMENSIONS)
}

fn open(dir: &Path) -> Vectors {
    Vectors::open(dir, &form()).unwrap()
}

fn key(number: u32) -> TextKey {
    TextKey::of(&number.to_string())
}

/// A vector of length 1 that a number gives, the same every time.
fn vector(number: u32, dimensions: usize) -> Vec<f32> {
    let mut state = u64::from(number) + 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mixed = (state ^ (state >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        ((mixed >> 40) as f32 / (1u64 << 24) as f32) - 0.5
    };
    let raw: Vec<f32> = (0..dimensions).map(|_| next() + next() + next()).collect();
    let length = dot(&raw, &raw).sqrt();
    raw.iter().map(|value| value / length).collect()
}

fn row(number: u32) -> NewRow {
    let script = if number.is_multiple_of(3) { Script::Cjk } else { Script::Latin };
    NewRow { key: key(number), script, vector: vector(number, DIMENSIONS) }
}

fn rows(numbers: impl IntoIterator<Item = u32>) -> Vec<NewRow> {
    numbers.into_iter().map(row).collect()
}

fn quietly(_: &str) {}

fn adding(add: Vec<NewRow>) -> Change {
    Change { add, ..Change::default() }
}

fn removing(remove: &[TextKey]) -> Change {
    Change { remove: remove.to_vec(), ..Change::default() }
}

/// Whether the store is the map: keys, vectors, scripts, and what a search of it finds.
fn same(store: &Vectors, model: &BTreeMap<u32, ()>) {
    let mut there: Vec<TextKey> = store.keys().collect();
    let mut wanted: Vec<TextKey> = model.keys().map(|number| key(*number)).collect();
    there.sort();
    wanted.sort();
    assert_eq!(there, wanted);
    assert_eq!(store.len(), wanted.len());
    for number in model.keys() {
        let at = store.row(key(*number)).expect("a row");
        let (kept, given) = (store.vector(at).expect("whole"), row(*number));
        assert_eq!(store.script(at), given.script);
        assert!(kept.iter().zip(&given.vector).all(|(a, b)| (a - b).abs() < 1e-3), "{number}");
    }
    let question = vector(4_000_000, DIMENSIONS);
    let found = store.scan(&Question::nearest(&question, 5), |_| true);
    let mut best: Vec<f32> = model.keys().map(|n| dot(&question, &vector(*n, DIMENSIONS))).collect();
    best.sort_by(|a, b| b.total_cmp(a));
    best.truncate(5);
    assert_eq!(found.len(), best.len());
    assert!(
        found.iter().zip(&best).all(|(found, score)| (found.score - score).abs() < 2e-3),
        "{found:?} {best:?}"
    );
}

/// Runs a change that is killed when it reaches a step for the `nth` time; the store that had begun it is gone then.
fn killed(dir: &Path, change: impl FnOnce(&mut Vectors, &dyn Fn(&str)), step: &str, nth: usize) -> bool {
    let seen = RefCell::new(0);
    let die = |at: &str| {
        if at == step {
            *seen.borrow_mut() += 1;
            if *seen.borrow() == nth {
                std::panic::panic_any("killed");
            }
        }
    };
    let mut store = open(dir);
    catch_unwind(AssertUnwindSafe(|| change(&mut store, &die))).is_err()
}

#[derive(Debug, Clone)]
enum Deed {
    Add(Vec<u32>),
    Remove(Vec<u32>),
    Both(Vec<u32>, Vec<u32>),
    Compact,
    Reopen,
    Killed { add: Vec<u32>, remove: Vec<u32>, step: usize, nth: usize },
}

fn deed() -> impl Strategy<Value = Deed> {
    let some = || prop::collection::vec(0u32..400, 0..40);
    prop_oneof![
        4 => some().prop_map(Deed::Add),
        2 => some().prop_map(Deed::Remove),
        1 => (some(), some()).prop_map(|(add, remove)| Deed::Both(add, remove)),
        1 => Just(Deed::Compact),
        1 => Just(Deed::Reopen),
        2 => (some(), some(), 0usize..3, 1usize..3)
            .prop_map(|(add, remove, step, nth)| Deed::Killed { add, remove, step, nth }),
    ]
}

fn applied(model: &BTreeMap<u32, ()>, add: &[u32], remove: &[u32]) -> BTreeMap<u32, ()> {
    let mut model = model.clone();
    model.retain(|number, ()| !remove.contains(number));
    model.extend(add.iter().map(|number| (*number, ())));
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_is_a_map_whatever_happens(deeds in prop::collection::vec(deed(), 1..30)) {
        let dir = tempfile::tempdir().unwrap();
        let (mut store, mut model) = (open(dir.path()), BTreeMap::new());
        for deed in deeds {
            match deed {
                Deed::Add(add) => {
                    store.change(&adding(rows(add.clone())), &quietly).unwrap();
                    model = applied(&model, &add, &[]);
                }
                Deed::Remove(remove) => {
                    let keys: Vec<TextKey> = remove.iter().map(|n| key(*n)).collect();
                    store.change(&removing(&keys), &quietly).unwrap();
                    model = applied(&model, &[], &remove);
                }
                Deed::Both(add, remove) => {
                    let keys: Vec<TextKey> = remove.iter().map(|n| key(*n)).collect();
                    store.change(&Change { add: rows(add.clone()), remove: keys.clone(), ..Change::default() }, &quietly).unwrap();
                    model = applied(&model, &add, &remove);
                }
                Deed::Compact => store.compact(&quietly).unwrap(),
                Deed::Reopen => store = open(dir.path()),
                Deed::Killed { add, remove, step, nth } => {
                    let keys: Vec<TextKey> = remove.iter().map(|n| key(*n)).collect();
                    let change = |store: &mut Vectors, step: &dyn Fn(&str)| {
                        store.change(&Change { add: rows(add.clone()), remove: keys.clone(), ..Change::default() }, step).unwrap();
                    };
                    killed(dir.path(), change, STEPS[step], nth);
                    store = open(dir.path());
                    prop_assert!(store.damage().is_empty());
                    // The old state or the new one.
                    let new = applied(&model, &add, &remove);
                    if store.len() == new.len() && new.keys().all(|number| store.holds(key(*number))) {
                        model = new;
                    }
                }
            }
            same(&store, &model);
        }
        same(&open(dir.path()), &model);
        store.compact(&quietly).unwrap();
        same(&store, &model);
        let left = names(dir.path());
        prop_assert!(left.len() <= 2, "a manifest and one segment: {left:?}");
    }
}

#[test]
fn a_scan_finds_what_brute_force_finds() {
    let (count, dimensions, wanted) = (20_000u32, 384, 50);
    let dir = tempfile::tempdir().unwrap();
    let mut store = Vectors::open(dir.path(), &Form::of("a model", dimensions)).unwrap();
    let all: Vec<Vec<f32>> = (0..count).map(|number| vector(number, dimensions)).collect();
    for part in (0..count).collect::<Vec<_>>().chunks(7_000) {
        let new = part.iter().map(|n| NewRow {
            key: key(*n),
            script: Script::Latin,
            vector: all[*n as usize].clone(),
        });
        store.change(&adding(new.collect()), &quietly).unwrap();
    }
    for number in 0..10 {
        let question = vector(1_000_000 + number, dimensions);
        let mut best: Vec<(f32, u32)> = (0..count).map(|n| (dot(&question, &all[n as usize]), n)).collect();
        best.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Only every fifth is allowed.
        let allowed: std::collections::HashMap<Row, u32> =
            (0..count).step_by(5).map(|n| (store.row(key(n)).unwrap(), n)).collect();
        for some in [false, true] {
            let pass = |row: Row| !some || allowed.contains_key(&row);
            let found = store.scan(&Question::nearest(&question, wanted), pass);
            let right = best.iter().filter(|(_, n)| !some || n.is_multiple_of(5)).take(wanted);
            let right: Vec<Row> = right.map(|(_, n)| store.row(key(*n)).unwrap()).collect();
            let hit = found.iter().filter(|found| right.contains(&found.row)).count();
            // The last few may change places where their scores differ by less than a 16-bit float tells.
            assert!(hit + 1 >= wanted, "{hit} of {wanted}");
            assert_eq!(found[..20].iter().map(|f| f.row).collect::<Vec<_>>(), right[..20]);
        }
    }
}

#[test]
fn offsets_move_scripts_against_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    store.change(&adding(rows(0..300)), &quietly).unwrap();
    let question = vector(9, DIMENSIONS);
    let plain = store.scan(&Question::nearest(&question, 300), |_| true);
    let (mean, count) = store.mean(Script::Cjk);
    assert_eq!(count, 100);
    let mut wanted = vec![0f32; DIMENSIONS];
    for number in (0..300).step_by(3) {
        wanted.iter_mut().zip(vector(number, DIMENSIONS)).for_each(|(sum, value)| *sum += value / 100.0);
    }
    assert!(mean.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 2e-3));
    let moved = store.scan(&Question { vector: &question, offsets: [0.0, 5.0], count: 300 }, |_| true);
    assert!(moved[..100].iter().all(|found| store.script(found.row) == Script::Cjk));
    for found in &moved {
        let before = plain.iter().find(|other| other.row == found.row).unwrap().score;
        let added = if store.script(found.row) == Script::Cjk { 5.0 } else { 0.0 };
        assert!((found.score - before - added).abs() < 1e-5);
    }
}

/// Every file of a store with its bytes.
fn files(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    names(dir).iter().map(|name| dir.join(name)).map(|at| (at.clone(), std::fs::read(&at).unwrap())).collect()
}

#[test]
fn whatever_is_damaged_is_pending_and_never_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    store.change(&adding(rows(0..60)), &quietly).unwrap();
    store.change(&adding(rows(60..80)), &quietly).unwrap();
    let model: BTreeMap<u32, ()> = (0..80).map(|n| (n, ())).collect();
    for (at, bytes) in files(dir.path()) {
        for place in (0..bytes.len()).step_by(41).chain([bytes.len() - 1]) {
            let mut wrong = bytes.clone();
            wrong[place] ^= 0x10;
            std::fs::write(&at, &wrong).unwrap();
            let damaged = open(dir.path());
            for number in model.keys().filter(|number| damaged.holds(key(**number))) {
                let row = damaged.row(key(*number)).unwrap();
                let vector = damaged.vector(row);
                let right = vector.is_none_or(|kept| {
                    kept.iter().zip(&self::row(*number).vector).all(|(a, b)| (a - b).abs() < 1e-3)
                });
                assert!(right, "{} at {place}", at.display());
            }
        }
        let places = [0, 1, 100, 127, 128, 129, bytes.len() / 2, bytes.len() - 1];
        for cut in places.into_iter().filter(|cut| *cut < bytes.len()) {
            std::fs::write(&at, &bytes[..cut]).unwrap();
            let cut_short = open(dir.path());
            assert!(!cut_short.damage().is_empty(), "{} cut at {cut}", at.display());
        }
        std::fs::write(&at, [bytes.as_slice(), &[1; 5000]].concat()).unwrap();
        let longer = open(dir.path());
        if at.ends_with(manifest::NAME) {
            assert!(!longer.damage().is_empty());
        }
        same(&longer, &model);
        std::fs::write(&at, &bytes).unwrap();
    }
    same(&open(dir.path()), &model);
}

#[test]
fn a_damaged_row_is_told_and_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    store.change(&adding(rows(0..60)), &quietly).unwrap();
    let (at, mut bytes) = files(dir.path()).pop().unwrap();
    // The last row's halves, before what fills up the last 64 bytes.
    let end = bytes.len() - (60 * 2 * DIMENSIONS).next_multiple_of(64) + 60 * 2 * DIMENSIONS;
    bytes[end - 1] ^= 1;
    std::fs::write(&at, &bytes).unwrap();
    let mut store = open(dir.path());
    assert_eq!(store.damaged(), [key(59)]);
    let found = store.scan(&Question::nearest(&vector(59, DIMENSIONS), 3), |_| true);
    assert!(found.iter().all(|found| found.row != store.row(key(59)).unwrap()));
    store.change(&removing(&[key(59)]), &quietly).unwrap();
    assert!(!store.holds(key(59)));
    store.change(&adding(rows([59])), &quietly).unwrap();
    assert!(store.damaged().is_empty());
    same(&open(dir.path()), &(0..60).map(|n| (n, ())).collect());
}

#[test]
fn a_missing_file_and_a_lost_list_cost_only_what_was_in_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    store.change(&adding(rows(0..60)), &quietly).unwrap();
    store.change(&adding(rows(60..80)), &quietly).unwrap();
    std::fs::write(dir.path().join(manifest::NAME), b"nonsense").unwrap();
    let mut mended = open(dir.path());
    assert_eq!(mended.damage().len(), 1);
    same(&mended, &(0..80).map(|n| (n, ())).collect());
    mended.change(&Change::default(), &quietly).unwrap();
    assert!(open(dir.path()).damage().is_empty(), "the next change mends it");
    let first = files(dir.path()).into_iter().find(|(at, _)| !at.ends_with(manifest::NAME)).unwrap().0;
    std::fs::remove_file(first).unwrap();
    let rest = open(dir.path());
    assert_eq!((rest.damage().len(), rest.len()), (1, 20));
    same(&rest, &(60..80).map(|n| (n, ())).collect());
}

#[test]
fn another_model_sees_nothing_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    store.change(&adding(rows(0..10)), &quietly).unwrap();
    for other in [Form::of("another model", DIMENSIONS), Form::of("a model", DIMENSIONS + 1)] {
        let store = Vectors::open(dir.path(), &other).unwrap();
        assert!(store.is_empty() && !store.damage().is_empty());
        assert_ne!(other.name(), form().name());
    }
    assert!(matches!(
        store.change(&adding(vec![NewRow { vector: vec![1.0], ..row(1) }]), &quietly),
        Err(VectorError::Shape { got: 1, wanted: DIMENSIONS })
    ));
    let odd = NewRow { vector: vec![f32::NAN; DIMENSIONS], ..row(1) };
    assert!(matches!(store.change(&adding(vec![odd]), &quietly), Err(VectorError::Shape { .. })));
    assert!(store.scan(&Question::nearest(&[1.0; 3], 5), |_| true).is_empty());
}

#[test]
fn readers_keep_what_they_opened() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = open(dir.path());
    writer.change(&adding(rows(0..1000)), &quietly).unwrap();
    let reader = open(dir.path());
    let gone: Vec<TextKey> = (0..900).map(key).collect();
    writer.change(&removing(&gone), &quietly).unwrap();
    writer.compact(&quietly).unwrap();
    assert_eq!(names(dir.path()).len(), 2);
    same(&reader, &(0..1000).map(|n| (n, ())).collect());
    same(&writer, &(900..1000).map(|n| (n, ())).collect());
    std::thread::scope(|scope| {
        let at = dir.path();
        for _ in 0..2 {
            scope.spawn(move || {
                for _ in 0..200 {
                    let store = open(at);
                    assert!(store.damage().is_empty(), "{:?}", store.damage());
                    assert!(store.scan(&Question::nearest(&vector(7, DIMENSIONS), 3), |_| true).len() == 3);
                }
            });
        }
        for round in 0..40 {
            writer.change(&adding(rows(1000 + round * 10..1010 + round * 10)), &quietly).unwrap();
            writer.compact(&quietly).unwrap();
        }
    });
    same(&open(dir.path()), &(900..1400).map(|n| (n, ())).collect());
}

#[test]
fn many_small_changes_leave_few_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    for number in 0..300 {
        store.change(&adding(rows([number])), &quietly).unwrap();
    }
    assert!(names(dir.path()).len() <= 3 * change::SIZES, "{:?}", names(dir.path()));
    same(&open(dir.path()), &(0..300).map(|n| (n, ())).collect());
}

#[test]
fn the_dead_come_alive_for_nothing_and_are_dropped_when_many() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    store.change(&adding(rows(0..400)), &quietly).unwrap();
    store.change(&removing(&[key(3)]), &quietly).unwrap();
    assert!(!store.holds(key(3)) && store.row(key(3)).is_some());
    let before = names(dir.path());
    store.change(&Change { wake: vec![key(3), key(9_999)], ..Change::default() }, &quietly).unwrap();
    assert!(store.holds(key(3)) && !store.holds(key(9_999)));
    assert_eq!(names(dir.path()), before, "nothing was written but the list");
    let many: Vec<TextKey> = (0..150).map(key).collect();
    store.change(&removing(&many), &quietly).unwrap();
    assert_eq!(store.row_count(), 250, "the dead were dropped");
}
