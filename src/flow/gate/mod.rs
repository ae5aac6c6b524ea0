//! What the gate rests on: history, the rules that stand on main, and how they judge.

pub mod governance;
pub mod history;
mod read;
pub mod touched;
