//! Reading a branch: collecting its commits, classifying them, comparing every event with its place.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use crate::flow::branch::{
    Against, Branch, BranchCommit, BranchError, MAX_COMMITS, MAX_COMPARED, MAX_MESSAGE, Shape,
};
use crate::model::change::{DiffRecord, digest, mode};
use crate::model::commit::Commit;
use crate::model::event::{Data, Event, EventKind, Open};
use crate::model::id::{ActorId, Digest, Oid, ProposalId};
use crate::store::git::{GitError, Repo};

/// The commits of a branch before they are put in order.
struct Found {
    commits: HashMap<Oid, Rc<Commit>>,
    /// The second parents of updates.
    updates: HashSet<Oid>,
    /// The commit of the event `open`.
    open: Oid,
    /// What it says.
    data: Open,
    /// The proposal that it names.
    id: ProposalId,
}

/// The trees of a difference.
type Trees = (Oid, Oid);

/// How often, and how long in between, a branch that looks rewritten is looked at again.
const PATIENCE: usize = 50;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

struct Reader<'a, 'h, 'r> {
    repo: &'a Repo,
    against: &'a mut Against<'h, 'r>,
    /// The proposal's name for messages.
    name: String,
    /// The last few differences between two trees: an event asks for the same one as its parent.
    diffs: VecDeque<(Trees, Rc<Vec<DiffRecord>>)>,
    /// How many entries may still be compared.
    left: usize,
}

impl Branch {
    /// Reads a branch; see [`Branch::read`]. Without `id` the one that `open` names is taken.
    ///
    /// # Errors
    /// See [`BranchError`].
    pub fn read_against(
        repo: &Repo,
        id: Option<&ProposalId>,
        tip: Oid,
        against: &mut Against<'_, '_>,
    ) -> Result<Branch, BranchError> {
        let name = id.map_or_else(|| "?".to_owned(), ProposalId::to_string);
        let mut reader = Reader { repo, against, name, diffs: VecDeque::new(), left: MAX_COMPARED };
        let found = reader.collect(tip)?;
        if id.is_some_and(|id| *id != found.id) {
            return Err(reader.mismatch(found.open, "Runebook-Proposal", &found.id, &reader.name));
        }
        reader.name = found.id.to_string();
        reader.check_seen(&found, tip)?;
        let order = reader.order(&found, tip)?;
        let branch = reader.build(&found, &order, tip)?;
        let base = branch.base;
        if !reader.against.history.contains(base)? {
            return Err(BranchError::Detached { id: reader.name, base });
        }
        Ok(branch)
    }
}

impl Reader<'_, '_, '_> {
    fn shape(&self, commit: Oid, why: impl Into<String>) -> BranchError {
        BranchError::Shape { id: self.name.clone(), commit, why: why.into() }
    }

    fn mismatch(
        &self,
        commit: Oid,
        line: &'static str,
        says: &impl ToString,
        found: &impl ToString,
    ) -> BranchError {
        let (says, found) = (says.to_string(), found.to_string());
        BranchError::Mismatch { id: self.name.clone(), commit, line, says, found }
    }

    fn commit(&self, oid: Oid) -> Result<Rc<Commit>, BranchError> {
        let commit = self.repo.commit(oid)?;
        if commit.message.len() > MAX_MESSAGE {
            let what = format!("a message of more than {MAX_MESSAGE} bytes in commit {}", oid.short());
            return Err(BranchError::TooLarge { id: self.name.clone(), what });
        }
        Ok(commit)
    }

    /// The commits from the tip down to what `open` names. The first-parent line is followed first, since it must
    /// lead to `open` and to BASE; then the other sides of joins, which must meet it.
    fn collect(&mut self, tip: Oid) -> Result<Found, BranchError> {
        let mut commits = HashMap::new();
        let mut updates = HashSet::new();
        let mut sides = Vec::new();
        let mut open: Option<(Oid, Event, Open)> = None;
        let mut at = tip;
        while open.as_ref().is_none_or(|(_, _, data)| data.base != at) {
            let commit = self.take(at, &mut commits, &mut updates, &mut sides)?;
            let Some(parent) = commit.parents.first().copied() else {
                return Err(match open {
                    Some((oid, ..)) => self.shape(oid, "names a base that its own line does not lead to"),
                    None => BranchError::NoOpen { id: self.name.clone() },
                });
            };
            if open.is_none()
                && let Ok(event) = Event::parse(&commit.message)
                && let Data::Open(data) = event.data.clone()
                && commit.parents.len() == 1
                && self.repo.tree_of(parent)? == commit.tree
            {
                open = Some((at, event, data));
            }
            at = parent;
        }
        let Some((open, event, data)) = open else {
            return Err(BranchError::NoOpen { id: self.name.clone() });
        };
        while let Some(side) = sides.pop() {
            let mut at = side;
            while !commits.contains_key(&at) {
                let commit = self.take(at, &mut commits, &mut updates, &mut sides)?;
                let Some(parent) = commit.parents.first().copied().filter(|_| at != data.base) else {
                    return Err(self.shape(side, "is joined and is no tip of this proposal"));
                };
                at = parent;
            }
        }
        Ok(Found { commits, updates, open, data, id: event.proposal })
    }

    /// Takes one commit, decides whether its second parent is of main, and remembers the other sides of joins.
    fn take(
        &mut self,
        oid: Oid,
        commits: &mut HashMap<Oid, Rc<Commit>>,
        updates: &mut HashSet<Oid>,
        sides: &mut Vec<Oid>,
    ) -> Result<Rc<Commit>, BranchError> {
        if commits.len() >= MAX_COMMITS {
            let what =
                format!("more than {MAX_COMMITS} commits before the base that `open` names is reached");
            return Err(BranchError::TooLarge { id: self.name.clone(), what });
        }
        let commit = self.commit(oid)?;
        match commit.parents.as_slice() {
            [] => {
                let none = BranchError::NoOpen { id: self.name.clone() };
                return Err(if commits.is_empty() { none } else { self.shape(oid, "has no parent") });
            }
            [_] => {}
            [first, second] => {
                let (a, b) = (self.repo.tree_of(*first)?, self.repo.tree_of(*second)?);
                let same = a == commit.tree && b == commit.tree;
                if self.against.history.contains(*second)? {
                    updates.insert(*second);
                } else if same {
                    sides.push(*second);
                } else {
                    return Err(BranchError::Detached { id: self.name.clone(), base: *second });
                }
            }
            _ => return Err(self.shape(oid, "has more than two parents")),
        }
        commits.insert(oid, Rc::clone(&commit));
        Ok(commit)
    }

    fn check_seen(&self, found: &Found, tip: Oid) -> Result<(), BranchError> {
        if !self.against.seen {
            return Ok(());
        }
        // References that move together are set one after the other: what looks rewritten may be half of somebody's
        // step, which is over in a moment.
        for _ in 0..PATIENCE {
            let Some(seen) = self.repo.ref_oid(&found.id.seen_ref())? else { return Ok(()) };
            if found.commits.contains_key(&seen) || seen == found.data.base {
                return Ok(());
            }
            // Somebody may have gone on while this was being read. What has only grown since is a branch as it stood
            // then; a step that is made from it is still compared with where the branch is.
            for name in [found.id.open_ref(), found.id.closed_ref()] {
                match self.repo.ref_oid(&name)? {
                    Some(now) if now != tip && self.repo.is_ancestor(tip, seen)? => return Ok(()),
                    Some(now) if now != tip => return Err(GitError::RefMoved { name }.into()),
                    Some(_) => break,
                    None => {}
                }
            }
            std::thread::sleep(PAUSE);
        }
        match self.repo.ref_oid(&found.id.seen_ref())? {
            Some(seen) => Err(BranchError::Rewritten { id: found.id.to_string(), seen, tip }),
            None => Ok(()),
        }
    }

    /// The commits, parents before children; the same for every way of walking: first parents first.
    fn order(&self, found: &Found, tip: Oid) -> Result<Vec<Oid>, BranchError> {
        let mut order = Vec::with_capacity(found.commits.len());
        let mut done = HashSet::new();
        let mut stack = vec![(tip, false)];
        while let Some((oid, ready)) = stack.pop() {
            if ready {
                if done.insert(oid) {
                    order.push(oid);
                }
                continue;
            }
            let Some(commit) = found.commits.get(&oid).filter(|_| !done.contains(&oid)) else { continue };
            stack.push((oid, true));
            stack.extend(commit.parents.iter().rev().map(|parent| (*parent, false)));
        }
        if order.is_empty() {
            return Err(BranchError::NoOpen { id: self.name.clone() });
        }
        Ok(order)
    }

    fn diff(&mut self, old: Oid, new: Oid) -> Result<Rc<Vec<DiffRecord>>, BranchError> {
        if let Some((_, known)) = self.diffs.iter().find(|(trees, _)| *trees == (old, new)) {
            return Ok(Rc::clone(known));
        }
        let Some(records) = self.repo.diff_within(Some(old), Some(new), self.left)? else {
            let what = format!("more than {MAX_COMPARED} differences over all its commits");
            return Err(BranchError::TooLarge { id: self.name.clone(), what });
        };
        self.left -= records.len().min(self.left);
        let records = Rc::new(records);
        self.diffs.push_front(((old, new), Rc::clone(&records)));
        self.diffs.truncate(8);
        Ok(records)
    }

    fn build(&mut self, found: &Found, order: &[Oid], tip: Oid) -> Result<Branch, BranchError> {
        let words = order.len().div_ceil(64);
        let mut branch = Branch {
            id: found.id.clone(),
            vault: self.against.root,
            tip,
            main: self.against.history.tip(),
            base: found.data.base,
            digest: digest(&[]),
            records: Vec::new(),
            revision: 0,
            tree: self.repo.tree_of(tip)?,
            commits: Vec::with_capacity(order.len()),
            ancestors: Vec::with_capacity(order.len()),
            places: order.iter().copied().zip(0..).collect(),
        };
        let mut submits = vec![0u64; words];
        for (place, oid) in order.iter().enumerate() {
            let commit = Rc::clone(&found.commits[oid]);
            let parents: Vec<usize> =
                commit.parents.iter().filter_map(|parent| branch.places.get(parent).copied()).collect();
            let mut above = vec![0u64; words];
            for parent in &parents {
                for (word, more) in above.iter_mut().zip(&branch.ancestors[*parent]) {
                    *word |= more;
                }
            }
            let entry = self.classify(found, &branch, *oid, &commit, parents)?;
            above[place / 64] |= 1 << (place % 64);
            if entry.event().is_some_and(|event| event.kind == EventKind::Submit) {
                submits[place / 64] |= 1 << (place % 64);
            }
            branch.ancestors.push(above.clone());
            let revision = above.iter().zip(&submits).map(|(a, s)| (a & s).count_ones()).sum();
            let entry = BranchCommit { revision, ..entry };
            self.check_event(found, &branch, &entry, &above, place)?;
            branch.commits.push(entry);
        }
        if let Some(last) = branch.commits.last() {
            (branch.base, branch.digest, branch.revision) = (last.base, last.digest, last.revision);
        }
        let base = self.repo.tree_of(branch.base)?;
        let records = self.diff(base, branch.tree)?;
        branch.records = records.iter().filter(|record| !record.is_layer()).cloned().collect();
        Ok(branch)
    }

    /// What a commit is, its BASE and its digest.
    fn classify(
        &mut self,
        found: &Found,
        branch: &Branch,
        oid: Oid,
        commit: &Rc<Commit>,
        parents: Vec<usize>,
    ) -> Result<BranchCommit, BranchError> {
        let before = parents.first().map(|place| &branch.commits[*place]);
        let inherited = before.map_or(found.data.base, |parent| parent.base);
        let first = commit.parents.first().copied().unwrap_or(Oid::ZERO);
        let old_tree = self.repo.tree_of(first)?;
        let (shape, base) = match commit.parents.get(1) {
            None if old_tree == commit.tree => {
                let event = Event::parse(&commit.message).map_err(|why| BranchError::Event {
                    id: self.name.clone(),
                    commit: oid,
                    why,
                })?;
                (Shape::Event(Box::new(event)), inherited)
            }
            None => {
                let records = self.diff(old_tree, commit.tree)?;
                self.check_modes(oid, &records)?;
                (Shape::Content(records.to_vec()), inherited)
            }
            Some(second) if found.updates.contains(second) => {
                let (old_base, new_base) = (self.repo.tree_of(inherited)?, self.repo.tree_of(*second)?);
                let (old, new) = (self.diff(old_base, old_tree)?, self.diff(new_base, commit.tree)?);
                self.check_modes(oid, &new)?;
                (Shape::Update(differing(&old, &new)), *second)
            }
            Some(_) => {
                let other = parents.get(1).map(|place| &branch.commits[*place]);
                if other.is_none_or(|other| other.base != inherited) {
                    return Err(self.shape(oid, "joins two tips that have not the same base"));
                }
                let open = branch.places.get(&found.open).copied().unwrap_or(usize::MAX);
                let holds = |place: usize| open == place || bit(&branch.ancestors[place], open);
                if !parents.iter().all(|place| holds(*place)) {
                    return Err(self.shape(oid, "joins what is no tip of this proposal"));
                }
                (Shape::Join, inherited)
            }
        };
        let base_tree = self.repo.tree_of(base)?;
        let digest = digest(&self.diff(base_tree, commit.tree)?);
        Ok(BranchCommit { oid, commit: Rc::clone(commit), shape, base, digest, revision: 0, parents })
    }

    /// A name of a layer is a plain file's or nothing's, in every commit; another mode would hide content from
    /// everybody who leaves layers out. A mode that git does not write itself is refused altogether.
    fn check_modes(&self, oid: Oid, records: &[DiffRecord]) -> Result<(), BranchError> {
        for record in records {
            let path = String::from_utf8_lossy(&record.path).into_owned();
            let layer = |name: &[u8]| name == b".abstract.md" || name == b".overview.md";
            let above = record.path.split(|b| *b == b'/').rev().skip(1).any(layer);
            if above || (record.is_layer() && !matches!(record.new_mode, mode::NONE | mode::FILE)) {
                let why = format!("has `{path}` with a layer's name that is no plain file (mode 100644)");
                return Err(self.shape(oid, why));
            }
            let known = [mode::NONE, mode::FILE, mode::EXECUTABLE, mode::LINK, mode::SUBMODULE]
                .contains(&record.new_mode);
            if !known {
                return Err(self.shape(oid, format!("gives `{path}` the mode {:o}", record.new_mode)));
            }
        }
        Ok(())
    }

    /// Compares every line of an event with what its place on the branch gives.
    fn check_event(
        &self,
        found: &Found,
        branch: &Branch,
        entry: &BranchCommit,
        above: &[u64],
        place: usize,
    ) -> Result<(), BranchError> {
        let Some(event) = entry.event() else { return Ok(()) };
        let oid = entry.oid;
        if (event.kind == EventKind::Open) != (oid == found.open) {
            return Err(self.shape(oid, "is a second `open`"));
        }
        let open = branch.places.get(&found.open).copied().unwrap_or(usize::MAX);
        if oid != found.open && !bit(above, open) {
            return Err(self.shape(oid, "is an event that stands before `open`"));
        }
        if event.vault != branch.vault {
            return Err(self.mismatch(oid, "Runebook-Vault", &event.vault, &branch.vault));
        }
        if event.proposal != found.id {
            return Err(self.mismatch(oid, "Runebook-Proposal", &event.proposal, &found.id));
        }
        if event.revision != entry.revision {
            return Err(self.mismatch(oid, "Runebook-Revision", &event.revision, &entry.revision));
        }
        if event.base != entry.base {
            return Err(self.mismatch(oid, "Runebook-Base", &event.base, &entry.base));
        }
        if event.digest != entry.digest {
            return Err(self.mismatch(oid, "Runebook-Digest", &event.digest, &entry.digest));
        }
        let commit = &entry.commit;
        if commit.author != commit.committer {
            return Err(self.shape(oid, "is an event whose author and committer differ"));
        }
        if commit.author.name != event.actor.as_str() {
            return Err(self.mismatch(oid, "Runebook-Actor", &event.actor, &commit.author.name));
        }
        let prev = branch.newest_of(&event.actor, above, place);
        if event.prev != prev {
            let list = |oids: &[Oid]| oids.iter().map(Oid::to_string).collect::<Vec<_>>().join(" ");
            return Err(self.mismatch(oid, "Runebook-Prev", &list(&event.prev), &list(&prev)));
        }
        Ok(())
    }
}

/// The records of either list whose path has not the very same record in the other, layers left out.
fn differing(old: &[DiffRecord], new: &[DiffRecord]) -> Vec<DiffRecord> {
    // Both sides count: where main moved a path that the proposal touches too, its part is no longer what was approved.
    let key = |r: &DiffRecord| (r.path.clone(), r.old_mode, r.new_mode, r.old_oid, r.new_oid);
    let before: BTreeSet<_> = old.iter().map(key).collect();
    let after: BTreeSet<_> = new.iter().map(key).collect();
    let changed = new.iter().filter(|r| !before.contains(&key(r)));
    let gone = old.iter().filter(|r| !after.contains(&key(r)));
    let mut out: Vec<DiffRecord> = changed.chain(gone).filter(|r| !r.is_layer()).cloned().collect();
    out.sort();
    out.dedup_by(|a, b| a.path == b.path);
    out
}

fn bit(set: &[u64], place: usize) -> bool {
    set.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
}

impl Branch {
    /// The place of a commit in [`Branch::commits`].
    #[must_use]
    pub fn place(&self, oid: Oid) -> Option<usize> {
        self.places.get(&oid).copied()
    }

    /// Whether the commit at `ancestor` is the one at `of` or an ancestor of it.
    #[must_use]
    pub fn is_ancestor(&self, ancestor: usize, of: usize) -> bool {
        self.ancestors.get(of).is_some_and(|set| bit(set, ancestor))
    }

    /// The events in the order of the branch, with their places.
    pub fn events(&self) -> impl Iterator<Item = (usize, &BranchCommit, &Event)> {
        self.commits.iter().enumerate().filter_map(|(place, c)| c.event().map(|event| (place, c, event)))
    }

    /// What the event `open` says.
    #[must_use]
    pub fn open(&self) -> Option<(&BranchCommit, &Event, &Open)> {
        self.events().find_map(|(_, commit, event)| match &event.data {
            Data::Open(open) => Some((commit, event, open)),
            _ => None,
        })
    }

    /// An actor's newest events at the tip: the `Runebook-Prev` of its next one.
    #[must_use]
    pub fn prev_at_tip(&self, actor: &ActorId) -> Vec<Oid> {
        let all = vec![u64::MAX; self.commits.len().div_ceil(64)];
        self.newest_of(actor, &all, self.commits.len())
    }

    /// The newest events of an actor within a set of commits: those that no other one descends from, sorted.
    fn newest_of(&self, actor: &ActorId, within: &[u64], before: usize) -> Vec<Oid> {
        let mut covered = vec![0u64; self.commits.len().div_ceil(64).max(within.len())];
        let mut newest = Vec::new();
        for place in (0..before.min(self.commits.len())).rev() {
            if !bit(within, place) || bit(&covered, place) {
                continue;
            }
            let commit = &self.commits[place];
            if commit.event().is_some_and(|event| event.actor == *actor) {
                newest.push(commit.oid);
                for (word, more) in covered.iter_mut().zip(&self.ancestors[place]) {
                    *word |= more;
                }
            }
        }
        newest.sort();
        newest
    }

    /// The digest of the branch's present difference to BASE is that of nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.digest == Digest::of(b"")
    }
}
