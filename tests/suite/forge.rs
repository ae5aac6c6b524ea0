//! A vault whose proposals are made commit by commit, so that a test can also make what the program never would.

use std::collections::BTreeMap;

use runebook::flow::branch::Branch;
use runebook::flow::decide::{Decision, decide};
use runebook::flow::events::{self, Draft};
use runebook::flow::vault::Vault;
use runebook::model::actor::Actor;
use runebook::model::change::{Change, ChangeSet, Entry, mode};
use runebook::model::clock::{Clock, Entropy, Env};
use runebook::model::commit::{Commit, GitTime, Ident};
use runebook::model::event::{Decide, Open, Outcome, Verdict};
use runebook::model::fault::Fault;
use runebook::model::id::{Oid, ProposalId};
use runebook::model::path::VaultPath;
use runebook::store::git::{RefUpdate, Repo};

use crate::support::Sandbox;

pub(crate) const ACTORS: &str = "actors:
- {id: mei, kind: person, email: mei@example.org, roles: [propose, review, merge, admin]}
- {id: kai, kind: person, email: Kai@example.org, roles: [propose, review, merge]}
- {id: mei-laptop, kind: person, email: mei@laptop.example, principal: mei, roles: [propose, review, merge]}
- {id: ada, kind: agent, family: claude, email: ada@agents.example, roles: [propose, review]}
- {id: ada-two, kind: agent, family: gpt, email: ada2@agents.example, principal: ada, roles: [propose, review]}
- {id: bob, kind: agent, family: Claude, email: bob@agents.example, roles: [propose, review]}
- {id: gil, kind: agent, family: gpt, email: gil@agents.example, roles: [propose, review, merge]}
- {id: key, kind: person, email: key@example.org, roles: [propose, review, merge], keys: [ssh-ed25519 AAAAC3Nza]}
";

pub(crate) const POLICY: &str = "version: 1
confirm: none
max_rounds: 3
rules:
- {paths: ['**'], quorum: 1}
- {paths: ['strict/**'], quorum: 2}
- {paths: ['people/**'], person: true}
- {paths: ['owned/**'], owners: [kai]}
- {paths: ['**/CLAUDE.md'], propose: [person]}
- {paths: ['admins/**'], direct: admin}
- {paths: ['small/**'], limits: {bytes: 10}}
";

pub(crate) struct Forge {
    pub(crate) sandbox: std::rc::Rc<Sandbox>,
    env: Env,
}

impl Forge {
    /// A vault with actors, a policy and one memory, committed by Mei.
    pub(crate) fn new() -> Forge {
        let sandbox = Sandbox::new();
        sandbox.git(&["init", "-q"]);
        sandbox.write(".runebook/config.yaml", "version: 1\n");
        sandbox.write(".runebook/actors.yaml", ACTORS);
        sandbox.write(".runebook/policy.yaml", POLICY);
        sandbox.write("notes/a.md", "# A\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "begin"]);
        let env = Env {
            vars: BTreeMap::new(),
            clock: Clock::fixed("2026-11-29T10:00:00Z".parse().unwrap()),
            entropy: Entropy::seeded(7),
            cancel: Default::default(),
            program: None,
            current_dir: sandbox.vault(),
        };
        Forge { sandbox: std::rc::Rc::new(sandbox), env }
    }

    /// The same vault, opened by a program that draws the same names again.
    pub(crate) fn again(other: &Forge) -> Forge {
        let env = Env {
            vars: BTreeMap::new(),
            clock: other.env.clock.clone(),
            entropy: Entropy::seeded(7),
            cancel: Default::default(),
            program: None,
            current_dir: other.sandbox.vault(),
        };
        Forge { sandbox: std::rc::Rc::clone(&other.sandbox), env }
    }

    pub(crate) fn vault(&self) -> Vault<'_> {
        Vault::open(&self.env, &self.sandbox.vault()).unwrap()
    }

    pub(crate) fn repo(&self) -> Repo {
        self.vault().repo
    }

    pub(crate) fn main(&self) -> Oid {
        self.vault().main().unwrap()
    }

    pub(crate) fn actor(&self, id: &str) -> Actor {
        let vault = self.vault();
        let governance = vault.governance(vault.main().unwrap()).unwrap();
        governance.actors.get(&id.parse().unwrap()).unwrap().clone()
    }

    pub(crate) fn ident(&self, id: &str) -> Ident {
        let actor = self.actor(id);
        Ident { name: id.to_owned(), email: actor.email, time: now() }
    }

    pub(crate) fn tip(&self, id: &ProposalId) -> Oid {
        self.repo().ref_oid(&id.open_ref()).unwrap().unwrap()
    }

    pub(crate) fn branch(&self, id: &ProposalId) -> Branch {
        Branch::read(&self.repo(), id, self.tip(id), self.main()).unwrap()
    }

    pub(crate) fn read(&self, id: &ProposalId) -> Result<Branch, String> {
        Branch::read(&self.repo(), id, self.tip(id), self.main()).map_err(|e| e.to_string())
    }

    pub(crate) fn decide(&self, id: &ProposalId) -> Result<Decision, Fault> {
        decide(&self.repo(), self.main(), self.tip(id), &[])
    }

    pub(crate) fn open(&self, actor: &str) -> ProposalId {
        self.open_with(actor, None)
    }

    pub(crate) fn open_with(&self, actor: &str, rollback_of: Option<Oid>) -> ProposalId {
        let data = Open { base: self.main(), from: None, rollback_of, title: "a change".to_owned() };
        events::open(&self.vault(), &self.actor(actor), data).unwrap().id
    }

    /// Appends an event as the program does.
    pub(crate) fn say(&self, id: &ProposalId, actor: &str, draft: Draft) -> Oid {
        self.try_say(id, actor, draft).unwrap()
    }

    pub(crate) fn try_say(&self, id: &ProposalId, actor: &str, draft: Draft) -> Result<Oid, Fault> {
        events::append(&self.vault(), &self.branch(id), &self.actor(actor), draft)
    }

    pub(crate) fn approve(&self, id: &ProposalId, actor: &str) -> Oid {
        self.say(id, actor, Draft::review(Verdict::Approve, Vec::new()))
    }

    /// A tree: another one with files written (`Some`) or deleted.
    pub(crate) fn tree(&self, base: Oid, files: &[(&str, Option<&str>)]) -> Oid {
        let mut changes = ChangeSet::default();
        for (path, content) in files {
            let path = VaultPath::parse(path).unwrap();
            match content {
                Some(content) => changes.write(path, content.as_bytes().to_vec()),
                None => changes.delete(path),
            }
        }
        self.repo().write_tree(Some(base), &changes).unwrap()
    }

    /// A tree with one entry of any mode.
    pub(crate) fn tree_with(&self, base: Oid, path: &str, mode: u32, content: &str) -> Oid {
        let repo = self.repo();
        let oid = repo.write_blob(content.as_bytes()).unwrap();
        let mut changes = ChangeSet::default();
        changes.changes.insert(VaultPath::parse(path).unwrap(), Change::Put(Entry { mode, oid }));
        repo.write_tree(Some(base), &changes).unwrap()
    }

    pub(crate) fn commit(&self, parents: &[Oid], tree: Oid, by: &Ident, message: &str) -> Oid {
        let commit = Commit {
            tree,
            parents: parents.to_vec(),
            author: by.clone(),
            committer: by.clone(),
            signature: None,
            message: message.to_owned(),
        };
        self.repo().write_commit(&commit).unwrap()
    }

    /// Moves a proposal's branch and its seen reference, as the program does.
    pub(crate) fn advance(&self, id: &ProposalId, to: Oid) {
        events::advance(&self.repo(), id, self.tip(id), to, "test").unwrap();
    }

    /// Adds a content commit to a proposal.
    pub(crate) fn put(&self, id: &ProposalId, by: &str, files: &[(&str, Option<&str>)]) -> Oid {
        let tip = self.tip(id);
        let tree = self.tree(self.repo().tree_of(tip).unwrap(), files);
        let commit = self.commit(&[tip], tree, &self.ident(by), "change\n");
        self.advance(id, commit);
        commit
    }

    /// A submitted proposal that writes files.
    pub(crate) fn proposal(&self, by: &str, files: &[(&str, Option<&str>)]) -> ProposalId {
        let id = self.open(by);
        self.put(&id, by, files);
        self.say(&id, by, Draft::submit());
        id
    }

    /// The tree that a merge makes: main's with the proposal's changes.
    pub(crate) fn result_tree(&self, branch: &Branch) -> Oid {
        let mut changes = ChangeSet::default();
        for record in &branch.records {
            let change = if record.new_mode == mode::NONE {
                Change::Delete
            } else {
                Change::Put(Entry { mode: record.new_mode, oid: record.new_oid })
            };
            changes.changes.insert(record.vault_path().unwrap(), change);
        }
        let repo = self.repo();
        repo.write_tree(Some(repo.tree_of(branch.main).unwrap()), &changes).unwrap()
    }

    /// The `decide` event of a merge, unreferenced.
    pub(crate) fn decide_event(&self, branch: &Branch, merger: &str, main: Oid, tree: Oid) -> Oid {
        let checks = BTreeMap::from([("path".to_owned(), Outcome::Ok)]);
        let draft = Draft::decide(Decide { checks, main, rules: vec![1], tree });
        events::prepare(&self.vault(), branch, &self.actor(merger), draft).unwrap()
    }

    /// Merges, whether that is allowed or not; the merge's commit.
    pub(crate) fn force_merge(&self, id: &ProposalId, merger: &str) -> Oid {
        let branch = self.branch(id);
        let tree = self.result_tree(&branch);
        let event = self.decide_event(&branch, merger, branch.main, tree);
        let merge = self.commit(&[branch.main, event], tree, &self.ident(merger), "merge\n");
        self.close(id, event);
        self.set_main(merge);
        merge
    }

    pub(crate) fn close(&self, id: &ProposalId, event: Oid) {
        let repo = self.repo();
        let update = |name: String, new| {
            let old = repo.ref_oid(&name).unwrap();
            RefUpdate { name, old, new, message: "test".to_owned() }
        };
        repo.update_refs(&[
            update(id.open_ref(), None),
            update(id.closed_ref(), Some(event)),
            update(id.seen_ref(), Some(event)),
        ])
        .unwrap();
    }

    pub(crate) fn set_main(&self, to: Oid) {
        let repo = self.repo();
        let name = "refs/heads/main".to_owned();
        let update =
            RefUpdate { old: repo.ref_oid(&name).unwrap(), name, new: Some(to), message: "test".to_owned() };
        repo.update_refs(&[update]).unwrap();
    }

    /// A direct commit to main.
    pub(crate) fn direct(&self, by: &str, files: &[(&str, Option<&str>)]) -> Oid {
        let main = self.main();
        let tree = self.tree(self.repo().tree_of(main).unwrap(), files);
        let commit = self.commit(&[main], tree, &self.ident(by), "direct\n");
        self.set_main(commit);
        commit
    }

    /// The rules that `runebook audit` finds broken.
    #[track_caller]
    pub(crate) fn broken_rules(&self) -> Vec<String> {
        let run = self.sandbox.run(&["audit", "--json"]);
        let report = run.json();
        let rules = report["violations"].as_array().unwrap().iter();
        let rules: Vec<String> = rules.map(|v| v["rule"].as_str().unwrap().to_owned()).collect();
        assert_eq!(run.status, i32::from(!rules.is_empty()), "{run:?}");
        assert_eq!(report["verdict"], if rules.is_empty() { "held-recorded" } else { "broken" });
        rules
    }
}

pub(crate) fn now() -> GitTime {
    GitTime { seconds: 1_796_000_000, offset_minutes: 0 }
}
