//! A search that can be stopped, for patterns and texts on which the usual engine could be away for minutes.
//!
//! It asks only where the first match ends. An automaton is made while it is needed; where it would be made anew for
//! nearly every byte, or asks for more than bytes (the end of a word in Greek), all states of the pattern are followed
//! side by side. Both take time in proportion to the text, and both look at the clock as they go.

use regex_automata::Input;
use regex_automata::hybrid::dfa::{self, DFA};
use regex_automata::nfa::thompson::{self, NFA, State, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_syntax::hir::Hir;

use crate::error::VaultError;
use crate::limits::MAX_PATTERN_MEMORY;

/// Asks whether the search may go on.
pub(super) type Check<'a> = dyn Fn() -> Result<(), VaultError> + 'a;

/// Work between two looks at the clock, in bytes of text times bytes of pattern: a few hundredths of a second.
const WORK_PER_CHECK: usize = 1 << 24;

/// Bytes of text between two looks at the clock, at most.
const MAX_BYTES_PER_CHECK: usize = 1 << 14;

/// A pattern.
#[derive(Debug)]
pub(super) struct Stoppable {
    nfa: NFA,
    dfa: Option<DFA>,
    bytes_per_check: usize,
}

/// What one thread needs to search.
#[derive(Debug)]
pub(super) struct Scratch {
    dfa: Option<dfa::Cache>,
    now: States,
    next: States,
    stack: Vec<StateID>,
    /// Steps of all searches: no two places have the same number.
    n_steps: usize,
}

/// States of the pattern that are reached at one place of the text.
#[derive(Debug, Default)]
struct States {
    /// Those that take a byte.
    ids: Vec<StateID>,
    /// The step in which each state was reached last.
    reached: Vec<usize>,
    is_match: bool,
}

/// The automaton cannot tell.
struct Unsure;

/// Compiles a pattern; `None` when it would be too large.
pub(super) fn compile(hir: &Hir) -> Option<NFA> {
    let config = thompson::Config::new()
        .utf8(false)
        .which_captures(WhichCaptures::None)
        .nfa_size_limit(Some(MAX_PATTERN_MEMORY));
    thompson::Compiler::new().configure(config).build_from_hir(hir).ok()
}

impl Stoppable {
    pub(super) fn new(nfa: &NFA) -> Stoppable {
        let config = dfa::Config::new()
            .cache_capacity(MAX_PATTERN_MEMORY)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true)
            .minimum_cache_clear_count(Some(3))
            .minimum_bytes_per_state(Some(10));
        let dfa = dfa::Builder::new().configure(config).build_from_nfa(nfa.clone()).ok();
        let nfa = nfa.clone();
        let bytes_per_check = (WORK_PER_CHECK / nfa.memory_usage().max(1)).clamp(1, MAX_BYTES_PER_CHECK);
        Stoppable { nfa, dfa, bytes_per_check }
    }

    pub(super) fn scratch(&self) -> Scratch {
        let states = || States { reached: vec![0; self.nfa.states().len()], ..States::default() };
        let dfa = self.dfa.as_ref().map(DFA::create_cache);
        Scratch { dfa, now: states(), next: states(), stack: vec![], n_steps: 0 }
    }

    /// Returns where the first match in `text` ends, of those that end first.
    pub(super) fn first_end(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        check: &Check,
    ) -> Result<Option<usize>, VaultError> {
        if let (Some(dfa), Some(cache)) = (&self.dfa, &mut scratch.dfa)
            && let Ok(end) = self.by_automaton(dfa, cache, text, check)?
        {
            return Ok(end);
        }
        self.by_states(scratch, text, check)
    }

    fn by_automaton(
        &self,
        dfa: &DFA,
        cache: &mut dfa::Cache,
        text: &[u8],
        check: &Check,
    ) -> Result<Result<Option<usize>, Unsure>, VaultError> {
        cache.search_start(0);
        let Ok(mut state) = dfa.start_state_forward(cache, &Input::new(text)) else { return Ok(Err(Unsure)) };
        let mut at = 0;
        for part in text.chunks(self.bytes_per_check) {
            check()?;
            cache.search_update(at);
            for byte in part {
                // a match is told one byte late
                match dfa.next_state(cache, state, *byte) {
                    Ok(next) if next.is_match() => return Ok(Ok(Some(at))),
                    Ok(next) if next.is_dead() => return Ok(Ok(None)),
                    Ok(next) if !next.is_quit() => state = next,
                    _ => return Ok(Err(Unsure)),
                }
                at += 1;
            }
        }
        let end = dfa.next_eoi_state(cache, state);
        Ok(end.map(|state| state.is_match().then_some(at)).map_err(|_| Unsure))
    }

    fn by_states(&self, scratch: &mut Scratch, text: &[u8], check: &Check) -> Result<Option<usize>, VaultError> {
        let mut at = 0;
        scratch.step();
        self.reach(scratch, self.nfa.start_unanchored(), text, at);
        for part in text.chunks(self.bytes_per_check) {
            check()?;
            for byte in part {
                std::mem::swap(&mut scratch.now, &mut scratch.next);
                if scratch.now.is_match {
                    return Ok(Some(at));
                }
                at += 1;
                scratch.step();
                for place in 0..scratch.now.ids.len() {
                    if let Some(id) = after(self.nfa.state(scratch.now.ids[place]), *byte) {
                        self.reach(scratch, id, text, at);
                    }
                }
            }
        }
        Ok(scratch.next.is_match.then_some(at))
    }

    /// Adds a state to the next ones, and all to which it leads without a byte.
    fn reach(&self, scratch: &mut Scratch, id: StateID, text: &[u8], at: usize) {
        let Scratch { next: states, stack, n_steps, .. } = scratch;
        stack.push(id);
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut states.reached[id], *n_steps) == *n_steps {
                continue;
            }
            match self.nfa.state(id) {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => states.ids.push(id),
                State::Look { look, next } => {
                    if self.nfa.look_matcher().matches(*look, text, at) {
                        stack.push(*next);
                    }
                }
                State::Union { alternates } => stack.extend(alternates),
                State::BinaryUnion { alt1, alt2 } => stack.extend([*alt1, *alt2]),
                State::Capture { next, .. } => stack.push(*next),
                State::Match { .. } => states.is_match = true,
                State::Fail => {}
            }
        }
    }
}

impl Scratch {
    /// Begins a step: nothing is reached yet.
    fn step(&mut self) {
        self.n_steps += 1;
        self.next.ids.clear();
        self.next.is_match = false;
    }
}

#[cfg(test)]
impl Scratch {
    /// From now on all states are followed.
    pub(super) fn forget_automaton(&mut self) {
        self.dfa = None;
    }
}

fn after(state: &State, byte: u8) -> Option<StateID> {
    match state {
        State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
        State::Sparse(transitions) => transitions.matches_byte(byte),
        State::Dense(transitions) => transitions.matches_byte(byte),
        _ => None,
    }
}
