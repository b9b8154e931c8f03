//! Laws: what holds for every note.

mod held;
mod notes;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::*;
use held::{check_again, check_dropped, follow, writes};
use notes::{entries, items, layout, line, list_text, noise, note, plain_note, ugly_list};

fn shown(stored: &str) -> String {
    view(stored, &ViewOptions::default()).text
}

fn merged(stored: &str, new: &str) -> Result<Merged, MergeError> {
    merge(stored, new, &ViewOptions::default())
}

/// The frontmatter block that the view shows.
fn header_len(stored: &str) -> usize {
    view::Shown::of(stored, &ViewOptions::default()).header_len
}

/// Any text as the view will show it after it was merged.
fn normal(text: &str, view: &str) -> String {
    merge::incoming(text, view).into_owned()
}

#[derive(Clone, Debug)]
enum Change {
    Insert(Index, String),
    Remove(Index),
    Swap(Index, Index),
    Repeat(Index),
    CutLastNewline,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), line()).prop_map(|(at, line)| Change::Insert(at, line)),
        any::<Index>().prop_map(Change::Remove),
        (any::<Index>(), any::<Index>()).prop_map(|(one, other)| Change::Swap(one, other)),
        any::<Index>().prop_map(Change::Repeat),
        Just(Change::CutLastNewline),
    ]
}

fn changed(body: &str, changes: &[Change]) -> String {
    let mut lines: Vec<String> = body.split_inclusive('\n').map(str::to_owned).collect();
    for change in changes {
        let n_lines = lines.len();
        match change {
            Change::Insert(at, line) => lines.insert(at.index(n_lines + 1), line.clone()),
            Change::CutLastNewline => {
                let last = lines.pop().unwrap_or_default();
                lines.push(last.trim_end_matches('\n').to_owned());
            }
            _ if n_lines == 0 => {}
            Change::Remove(at) => drop(lines.remove(at.index(n_lines))),
            Change::Swap(one, other) => lines.swap(one.index(n_lines), other.index(n_lines)),
            Change::Repeat(at) => lines.push(lines[at.index(n_lines)].clone()),
        }
    }
    lines.concat()
}

fn value() -> impl Strategy<Value = Value> {
    let plain = select(&["1", "true", "2024-01-01", "x y"][..]);
    let leaf = prop_oneof![
        "[a-c:#'\"\\\\ \n\r\t\\[\\]{},&*!|>%@`?~é日-]{0,6}".prop_map(Value::string),
        plain.prop_map(|text| Value::Scalar { text: text.to_owned(), plain: true }),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let pairs = prop::collection::vec(("[a-c:# ]{0,3}", inner.clone()), 0..4);
        prop_oneof![prop::collection::vec(inner, 0..4).prop_map(Value::List), pairs.prop_map(Value::Map)]
    })
}

/// A stretch of `text` that begins and ends between characters.
fn stretch(text: &str, at: Index, len: usize) -> std::ops::Range<usize> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let first = at.index(places.len());
    places[first]..places[(first + len).min(places.len() - 1)]
}

fn is_broken(stored: &str) -> bool {
    parse(stored).frontmatter.is_some_and(|block| block.problem().is_some())
}

/// The bytes of the head, of every entry but the last one of `key` (or any of them), and of the tail.
fn other_entries(stored: &str, key: &str, keep_earlier: bool) -> Vec<String> {
    let Some(block) = parse(stored).frontmatter else { return Vec::new() };
    let last = block.entries.iter().rposition(|entry| entry.key == key);
    let entries = block.entries.iter().enumerate();
    let others = entries.filter(|(index, entry)| entry.key != key || (keep_earlier && Some(*index) != last));
    let spans = others.map(|(_, entry)| &entry.span).chain([&block.head, &block.tail]);
    spans.map(|span| stored[span.clone()].to_owned()).filter(|text| !text.is_empty()).collect()
}

/// What each list item of `tags` reads as.
fn tag_items(stored: &str) -> Vec<Value> {
    match parse(stored).frontmatter.as_ref().and_then(|block| block.value("tags")) {
        Some(Value::List(items)) => items.clone(),
        None | Some(Value::Null) => Vec::new(),
        Some(other) => vec![other.clone()],
    }
}

fn payloads(stored: &str) -> Vec<String> {
    parse(stored).elements.into_iter().map(|element| element.content).collect()
}

/// Fails unless every element of `stored` that is not in `dropped` is in `after`, as often as it was.
fn check_payloads(stored: &str, after: &str, dropped: &[DroppedBlock]) -> Result<(), TestCaseError> {
    let ids = view(stored, &ViewOptions::default()).elements.into_iter().map(|element| element.id);
    let kept = payloads(stored).into_iter().zip(ids).filter(|(_, id)| !dropped.iter().any(|block| block.id == *id));
    let mut left = payloads(after);
    for (payload, id) in kept {
        let place = left.iter().position(|other| *other == payload);
        prop_assert!(place.is_some(), "{id} {payload:?} of {stored:?} in {after:?}");
        left.remove(place.unwrap());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 200_000, ..ProptestConfig::default() })]

    #[test]
    fn writing_back_what_was_read_changes_no_byte(stored in note(), crlf in any::<bool>()) {
        let text = shown(&stored);
        let text = if crlf && !text.contains("\r\n") { text.replace('\n', "\r\n") } else { text };
        let merged = merged(&stored, &text).unwrap();
        prop_assert_eq!(merged.text, stored);
        prop_assert!(merged.dropped.is_empty() && merged.ignored_keys.is_empty());
    }

    #[test]
    fn a_changed_body_is_shown_as_it_was_written(stored in plain_note(), changes in prop::collection::vec(change(), 1..6)) {
        let text = shown(&stored);
        let header = header_len(&stored);
        let line_end = if text[..header].ends_with('\n') { "" } else { "\n" };
        let new = [&text[..header], line_end, &changed(&text[header..], &changes)].concat();
        let merged = merged(&stored, &new).unwrap();
        // What becomes an element is shown as one.
        prop_assume!(parse(&merged.text).elements.is_empty());
        prop_assert_eq!(shown(&merged.text), normal(&new, &text));
    }

    #[test]
    fn changed_own_keys_are_shown_as_they_were_written(stored in plain_note(), entries in entries()) {
        let own = entries.iter().filter(|entry| !MANAGED_KEYS.iter().any(|key| entry.contains(&format!("{key}:"))));
        let (types, others): (Vec<&str>, Vec<&str>) = own.partition(|entry| entry.starts_with("type"));
        let first = types.first().copied().unwrap_or("type: Note\n");
        let text = shown(&stored);
        let new = format!("---\n{first}{}---\n{}", others.concat(), &text[header_len(&stored)..]);
        let merged = merged(&stored, &new).unwrap();
        prop_assert_eq!(shown(&merged.text), normal(&new, &text));
        let block = |stored: &str| parse(stored).frontmatter.filter(|block| block.problem().is_none());
        if let Some(old) = block(&stored) {
            let new = block(&merged.text);
            for key in MANAGED_KEYS {
                prop_assert_eq!(old.value(key), new.as_ref().and_then(|block| block.value(key)));
            }
        }
    }

    #[test]
    fn a_change_keeps_the_bytes_of_all_other_keys(stored in note(), key in "[a-c]{1,2}|tags|type|zeta|dup|note|nested|list", text in "[a-zé:' ]{0,6}") {
        match set_key(&stored, &key, &Value::string(text.as_str())) {
            Err(_) => prop_assert!(is_broken(&stored)),
            Ok(after) => {
                let block = parse(&after).frontmatter.unwrap();
                prop_assert_eq!(block.value(&key).and_then(Value::as_str), Some(text.as_str()));
                prop_assert_eq!(other_entries(&after, &key, true), other_entries(&stored, &key, true));
                prop_assert_eq!(body_of(&after), body_of(&stored));
                check_payloads(&stored, &after, &[])?;
            }
        }
    }

    #[test]
    fn a_key_goes_alone(stored in note(), key in "alpha|tags|type|zeta|dup|note|nested|list|quoted|created") {
        match unset_key(&stored, &key) {
            Err(_) => prop_assert!(is_broken(&stored)),
            Ok(after) => {
                prop_assert!(parse(&after).frontmatter.is_none_or(|block| block.value(&key).is_none()));
                prop_assert_eq!(other_entries(&after, &key, false), other_entries(&stored, &key, false));
                prop_assert_eq!(body_of(&after), body_of(&stored));
                check_payloads(&stored, &after, &[])?;
            }
        }
    }

    #[test]
    fn setting_an_absent_key_and_unsetting_it_gives_the_first_bytes(stored in note(), text in "[a-z:# ]{0,6}") {
        let document = parse(&stored);
        prop_assume!(!document.frontmatter.as_ref().is_some_and(|block| block.yaml.is_empty()));
        match set_key(&stored, "absent", &Value::string(text)) {
            Err(_) => prop_assert!(is_broken(&stored)),
            Ok(after) => prop_assert_eq!(unset_key(&after, "absent").unwrap(), stored),
        }
    }

    #[test]
    fn adding_to_a_list_and_removing_gives_the_first_bytes(
        stored in note(), items in items(), layout in layout(), item in "[a-z]{9}"
    ) {
        prop_assume!(!is_broken(&stored));
        // A mark for where the list goes, so that it stands among the other keys of the note.
        let stored = set_key(&unset_key(&stored, "tags").unwrap(), "tags", &Value::string("HERE")).unwrap();
        let stored = stored.replacen(" HERE\r\n", &list_text(&items, layout), 1).replacen(" HERE\n", &list_text(&items, layout), 1);
        let after = add_to_list(&stored, "tags", std::slice::from_ref(&item)).unwrap();
        prop_assert!(tags(&parse(&after)).contains(&item));
        prop_assert_eq!(other_entries(&after, "tags", true), other_entries(&stored, "tags", true));
        prop_assert_eq!(remove_from_list(&after, "tags", |tag| tag == item).unwrap(), stored);
    }

    #[test]
    fn list_items_go_alone(items in items(), layout in layout(), gone in prop::collection::vec(any::<bool>(), 6), earlier in any::<bool>()) {
        let text = |items: &[(&str, Option<&str>)]| {
            let above = if earlier { "tags: [a, x] # above\n" } else { "" };
            format!("---\n{above}# of tags\ntags:{}\nz: 1\n---\nText.\n", list_text(items, layout))
        };
        let is_gone = |read: &str| notes::ITEMS.iter().zip(&gone).any(|((_, item), gone)| *gone && *item == Some(read));
        let stored = text(&items);
        let after = remove_from_list(&stored, "tags", is_gone).unwrap();
        let kept: Vec<_> = items.iter().filter(|(_, read)| !read.is_some_and(is_gone)).copied().collect();
        prop_assert_eq!(body_of(&after), "Text.\n");
        if matches!(layout, notes::Layout::Flow) && !kept.is_empty() {
            prop_assert_eq!(after, text(&kept));
        } else if !kept.is_empty() {
            let lines: Vec<&str> = stored.lines().collect();
            let kept: Vec<&str> = after.lines().collect();
            prop_assert_eq!(lines.len() - kept.len(), items.iter().filter(|(_, read)| read.is_some_and(is_gone)).count());
            prop_assert!(align(&lines, &kept).iter().all(Option::is_some));
        } else {
            prop_assert_eq!(tag_items(&after), []);
            prop_assert_eq!(other_entries(&after, "tags", true), if earlier { other_entries(&stored, "tags", true) } else { vec!["z: 1\n".to_owned()] });
        }
    }

    #[test]
    fn no_list_change_loses_anything_else(list in ugly_list(), above in select(&["", "tags: [a, b]\n", "x: &x a\n"][..]), below in select(&["", "z: *x\n", "tags: [a]\n"][..])) {
        let stored = format!("---\n{above}# c\ntags:{list}{below}---\nText.\n");
        let plain = |items: Vec<Value>| -> Vec<Option<String>> { items.iter().map(|item| item.as_str().map(str::to_owned)).collect() };
        // `null,#a` is a text, not a comment
        let comments = |text: &str| text.match_indices('#').filter(|(at, _)| text[..*at].ends_with([' ', '\n'])).count();
        if let Ok(after) = remove_from_list(&stored, "tags", |tag| tag == "a") {
            let kept: Vec<Value> = tag_items(&stored).into_iter().filter(|item| item.as_str() != Some("a")).collect();
            prop_assert_eq!(body_of(&after), body_of(&stored));
            if !matches!(parse(&stored).frontmatter.and_then(|block| block.value("tags").cloned()), Some(Value::Scalar { .. })) {
                prop_assert_eq!(tag_items(&after), kept.clone());
            }
            if !kept.is_empty() || above.starts_with("tags") || below.starts_with("tags") {
                prop_assert_eq!(other_entries(&after, "tags", true), other_entries(&stored, "tags", true));
            }
        }
        if let Ok(after) = add_to_list(&stored, "tags", &["new".to_owned()]) {
            prop_assert_eq!(body_of(&after), body_of(&stored));
            prop_assert_eq!(other_entries(&after, "tags", true), other_entries(&stored, "tags", true));
            prop_assert_eq!(comments(&after), comments(&stored));
            if matches!(parse(&stored).frontmatter.and_then(|block| block.value("tags").cloned()), Some(Value::List(_))) {
                let mut all = plain(tag_items(&stored));
                all.push(Some("new".to_owned()));
                prop_assert_eq!(plain(tag_items(&after)), all);
            }
        }
    }

    #[test]
    fn an_edit_changes_no_line_that_it_did_not_match(
        stored in plain_note(), at in any::<Index>(), len in 1_usize..12, new in "[a-c\n]{0,5}", all in any::<bool>()
    ) {
        let text = shown(&stored);
        let header = header_len(&stored);
        let range = stretch(&text[header..], at, len);
        let old = &text[header..][range.clone()];
        prop_assume!(!old.is_empty() && text.find(old).is_some_and(|first| first >= header));
        prop_assume!(all || text.matches(old).count() == 1);
        let edited = edit(&stored, old, &new, all, &ViewOptions::default()).unwrap();
        let wanted = if all { text[header..].replace(old, &new) } else { text[header..].replacen(old, &new, 1) };
        prop_assume!(parse(&edited.text).elements.is_empty());
        prop_assert_eq!(shown(&edited.text), [&text[..header], &wanted].concat());
        let body = body_of(&stored);
        let first = text[header..].find(old).unwrap();
        let last = text[header..].rfind(old).unwrap() + old.len();
        let before = text[header..header + first].matches('\n').count();
        let after = text[header + last..].split_inclusive('\n').skip(1).count();
        let lines: Vec<&str> = body.split_inclusive('\n').collect();
        prop_assert!(body_of(&edited.text).starts_with(&lines[..before].concat()));
        prop_assert!(edited.text.ends_with(&lines[lines.len() - after..].concat()));
    }

    #[test]
    fn a_changed_block_is_shown_as_it_was_written_or_refused(
        stored in plain_note(), at in any::<Index>(), len in 0_usize..24, new in damage(), as_edit in any::<bool>()
    ) {
        let text = shown(&stored);
        let header = header_len(&stored);
        let range = stretch(&text[..header], at, len);
        let old = &text[range.clone()];
        let asked = [&text[..range.start], &new, &text[range.end..]].concat();
        let after = if as_edit {
            prop_assume!(!old.is_empty() && n_places(&text, old) == 1);
            edit(&stored, old, &new, false, &ViewOptions::default()).ok()
        } else {
            merged(&stored, &asked).ok()
        };
        prop_assume!(after.as_ref().is_some_and(|after| parse(&after.text).elements.is_empty()));
        let after = after.unwrap().text;
        if asked == text {
            prop_assert_eq!(after, stored);
        } else if parse(&asked).frontmatter.is_some() {
            prop_assert_eq!(&shown(&after)[header_len(&after)..], body_of(&asked));
            prop_assert_eq!(own_keys(&shown(&after)), own_keys(&asked));
        } else {
            prop_assert!(!as_edit || parse(&stored).frontmatter.is_none());
            prop_assert_eq!(&shown(&after)[header_len(&after)..], normal(&asked, &text));
            let begins_like_body = asked.lines().take(2).eq(text[header..].lines().take(2));
            let is_prose = !frontmatter::has_fences(&asked) && !frontmatter::top_lines(&asked).any(|(_, line)| frontmatter::is_key_line(line));
            prop_assert!(!frontmatter::begins_with_fence(&asked) || begins_like_body || is_prose, "{}", asked);
        }
    }

    #[test]
    fn placeholders_in_any_order_are_shown_as_they_were_sent(
        (blocks, order) in namesakes(), gone in prop::collection::vec(any::<bool>(), 8)
    ) {
        let stored = blocks.join("\n");
        let text = shown(&stored);
        let lines: Vec<&str> = text[header_len(&stored)..].split_inclusive('\n').collect();
        let placeholders: Vec<String> = lines.chunks(4).map(|lines| lines[..3].concat()).collect();
        let sent = |order: &[usize]| {
            let placeholders: Vec<&str> = order.iter().map(|index| placeholders[*index].as_str()).collect();
            format!("{}{}", &text[..header_len(&stored)], placeholders.join("\n"))
        };
        let moved = merged(&stored, &sent(&order)).unwrap().text;
        // Equal elements may change ids with each other.
        prop_assert_eq!(merged(&moved, &format!("{}\nMore.\n", sent(&order))).unwrap().text, format!("{moved}\nMore.\n"));
        if blocks.iter().collect::<std::collections::HashSet<_>>().len() == blocks.len() {
            prop_assert_eq!(shown(&moved), sent(&order));
        }
        prop_assert_eq!(&moved, &order.iter().map(|index| blocks[*index]).collect::<Vec<_>>().join("\n"));
        // What is left means the same or nothing, once others are gone.
        let left: Vec<usize> = order.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|(index, _)| index).collect();
        let held = sent(&left);
        let fewer = merged(&stored, &held).unwrap().text;
        if let Ok(again) = merged(&fewer, &format!("{held}\nMore.\n")) {
            prop_assert_eq!(payloads(&again.text), payloads(&fewer));
        }
    }

    #[test]
    fn a_text_that_was_stored_is_stored_again_without_a_change(
        stored in note(), changes in prop::collection::vec(change(), 0..6), raw in notes::element_block()
    ) {
        let text = shown(&stored);
        let header = header_len(&stored);
        let sent = format!("{}\n{}\n\n{raw}", &text[..header], changed(&text[header..], &changes));
        let after = merged(&stored, &sent);
        prop_assume!(after.is_ok());
        check_again(&stored, &sent, &after.unwrap().text)?;
    }

    #[test]
    fn what_a_caller_holds_means_the_same_after_every_write((first, steps) in writes([&notes::TWINS[..], &notes::NAMESAKES].concat())) {
        follow(first, steps)?;
    }

    #[test]
    fn an_element_is_dropped_when_fewer_equal_ones_are_left(
        stored in note(), changes in prop::collection::vec(change(), 0..6), raws in prop::collection::vec(notes::element_block(), 0..3)
    ) {
        let sent = format!("{}\n\n{}", changed(&shown(&stored), &changes), raws.join("\n"));
        let after = merged(&stored, &sent);
        prop_assume!(after.is_ok());
        check_dropped(&stored, &after.unwrap())?;
    }

    #[test]
    fn a_line_in_a_placeholder_is_refused((blocks, _) in namesakes(), at in any::<Index>(), inside in 1_usize..3) {
        let stored = blocks.join("\n");
        let text = shown(&stored);
        let mut lines: Vec<&str> = text[header_len(&stored)..].split_inclusive('\n').collect();
        lines.insert(at.index(blocks.len()) * 4 + inside, "Typed.\n");
        let written = merged(&stored, &lines.concat());
        prop_assert!(matches!(written, Err(MergeError::EditedBlock { .. })), "{:?}", written);
    }

    #[test]
    fn an_edit_and_its_inverse_give_the_first_bytes(stored in note(), at in any::<Index>(), len in 1_usize..12, new in "[X-Z]{1,3}") {
        let text = shown(&stored);
        let header = header_len(&stored);
        let range = stretch(&text[header..], at, len);
        let old = &text[header..][range];
        let options = ViewOptions::default();
        prop_assume!(!old.is_empty() && !old.contains('\n') && text.matches(old).count() == 1);
        let edited = edit(&stored, old, &new, false, &options);
        prop_assume!(edited.as_ref().is_ok_and(|edited| edited.dropped.is_empty()));
        let edited = edited.unwrap();
        // A body that comes to read as frontmatter gets an empty block, which stays.
        prop_assume!(parse(&edited.text).frontmatter.is_some() == parse(&stored).frontmatter.is_some());
        prop_assume!(shown(&edited.text).matches(&new).count() == 1);
        prop_assert_eq!(edit(&edited.text, &new, old, false, &options).unwrap().text, stored);
    }

    #[test]
    fn lines_that_move_take_their_elements_along_or_are_refused(
        stored in note(), changes in prop::collection::vec(change(), 1..6), crlf in any::<bool>()
    ) {
        let new = changed(&shown(&stored), &changes);
        let new = if crlf { new.replace('\n', "\r\n") } else { new };
        let after = merged(&stored, &new);
        prop_assume!(after.is_ok());
        let after = after.unwrap();
        check_payloads(&stored, &after.text, &after.dropped)?;
        check_dropped(&stored, &after)?;
        prop_assert_eq!(merged(&after.text, &shown(&after.text)).unwrap().text, after.text);
    }

    #[test]
    fn any_value_is_set_and_no_other(stored in note(), key in "[abd]|tags|type|title|absent|a: b|", value in value()) {
        let after = set_key(&stored, &key, &value);
        prop_assume!(after.is_ok());
        let after = after.unwrap();
        prop_assert_eq!(other_entries(&after, &key, true), other_entries(&stored, &key, true));
        prop_assert_eq!(body_of(&after), body_of(&stored));
        let others = |stored: &str| -> Vec<(String, Value)> {
            let block = parse(stored).frontmatter.unwrap_or_else(|| parse("---\n---\n").frontmatter.unwrap());
            block.values.into_iter().filter(|(other, _)| *other != key).collect()
        };
        prop_assert_eq!(others(&after), others(&stored));
        prop_assert_eq!(set_key(&after, &key, &value).unwrap(), after);
    }

    #[test]
    fn an_edit_alters_no_payload(stored in note(), at in any::<Index>(), len in 1_usize..12, new in "[X-Z]{1,3}|[>`~\\- \n]{0,5}", all in any::<bool>()) {
        prop_assume!(!payloads(&stored).is_empty());
        let text = shown(&stored);
        let range = stretch(&text, at, len);
        let edited = edit(&stored, &text[range], &new, all, &ViewOptions::default());
        prop_assume!(edited.is_ok());
        let edited = edited.unwrap();
        check_payloads(&stored, &edited.text, &edited.dropped)?;
        check_dropped(&stored, &edited)?;
    }

    #[test]
    fn text_elsewhere_is_edited_and_no_element_is_dropped(before in note(), word in "[A-Z]{8}", after in note(), new in "[X-Z ]{0,4}") {
        let body = |stored: &str| body_of(stored).replace('\u{feff}', "");
        let stored = format!("{}\n\n\\\n\n# {word}\n\n{}", body(&before), body(&after));
        let text = shown(&stored);
        prop_assume!(text.matches(&word).count() == 1 && text.find(&word).unwrap() >= header_len(&stored));
        prop_assume!(!payloads(&stored).is_empty());
        let edited = edit(&stored, &word, &new, false, &ViewOptions::default()).unwrap();
        prop_assert!(edited.dropped.is_empty());
        prop_assert_eq!(payloads(&edited.text), payloads(&stored));
    }

    #[test]
    fn a_placeholder_inside_code_is_reported(stored in note(), fence in "`{8}|~{8}", every in any::<bool>()) {
        let before = view(&stored, &ViewOptions::default());
        prop_assume!(!before.elements.is_empty());
        let body = &before.text[header_len(&stored)..];
        let kept = if every { "" } else { body };
        let new = format!("{}{fence}\n{}\n{fence}\n\n", &before.text[..header_len(&stored)], if every { body } else { "" });
        let merged = merged(&stored, &format!("{new}{kept}")).unwrap();
        prop_assert_eq!(merged.dropped.len(), if every { before.elements.len() } else { 0 });
        check_payloads(&stored, &merged.text, &merged.dropped)?;
    }

    #[test]
    fn an_element_survives_with_its_placeholder_or_is_reported(stored in note(), gone in prop::collection::vec(any::<bool>(), 8), line in line()) {
        let before = view(&stored, &ViewOptions::default());
        let mut text = before.text.clone();
        let mut dropped = Vec::new();
        for (element, _) in before.elements.iter().zip(&gone).filter(|(_, gone)| **gone) {
            text = without_placeholder(&text, &element.id);
            dropped.push(element.id.clone());
        }
        text.push_str(&format!("\n\n{line}"));
        let merged = merged(&stored, &text).unwrap();
        let reported: Vec<String> = merged.dropped.iter().map(|block| block.id.clone()).collect();
        prop_assert_eq!(&reported, &dropped);
        check_payloads(&stored, &merged.text, &merged.dropped)?;
    }

    #[test]
    fn parsing_never_panics_and_its_spans_fit(text in noise()) {
        check_spans(&text);
        let text = format!("---\n{text}\n---\n{text}");
        check_spans(&text);
        let shown = view(&text, &ViewOptions::default());
        prop_assert_eq!(merged(&text, &shown.text).unwrap().text, text.clone());
        for line in 1..=shown.text.split_inclusive('\n').count() {
            prop_assert!(shown.is_added(line) != shown.file_line(line).is_some());
        }
        excerpt(&text, 20);
    }

    #[test]
    fn taking_any_text_back_never_panics(stored in note(), text in noise(), old in "[a-c\n#]{1,3}") {
        if let Ok(merged) = merged(&stored, &text) {
            shown(&merged.text);
        }
        let _ = edit(&stored, &old, &text, true, &ViewOptions::default());
        let _ = compose(&text, Some(&old), &[]);
    }

    #[test]
    fn a_respelled_link_leads_where_it_was_told(stored in note(), path in "[a-zé日 ()'&%,.\\-]{1,8}\\.md") {
        let links = parse(&stored).links;
        let mut n_spelled = 0;
        for (index, link) in links.iter().enumerate().filter(|(_, link)| !matches!(link.kind, LinkKind::External)) {
            let Some(spelled) = link.spell(&stored, path.trim()) else { continue };
            n_spelled += 1;
            let mut after = stored.clone();
            after.replace_range(link.destination.clone(), &spelled);
            let again = parse(&after).links;
            prop_assert_eq!(again.len(), links.len(), "{}", after);
            prop_assert_eq!(&again[index].target, path.trim(), "{}", after);
            prop_assert_eq!(&again[index].fragment, &link.fragment);
        }
        prop_assume!(n_spelled > 0);
    }
}

/// What may break a block: lost fences, sentences, lists, open quotes, and what does not.
fn damage() -> impl Strategy<Value = String> {
    let bits = [
        "",
        "Plant",
        "\n",
        "---\n",
        "--",
        "- a\n",
        "a: \"",
        "new: 1\n",
        "x: y: z",
        ": ",
        " ",
        "# c\n",
        "type: Guide\n",
        "'",
    ];
    prop::collection::vec(select(bits.to_vec()), 0..4).prop_map(|bits| bits.concat())
}

/// The entries of a block that are neither managed nor the line that only views have, in the order of their text.
fn own_keys(text: &str) -> Vec<String> {
    let Some(block) = parse(text).frontmatter else { return Vec::new() };
    let own = block.entries.iter().filter(|entry| !MANAGED_KEYS.contains(&entry.key.as_str()));
    let mut own: Vec<String> = own.map(|entry| text[entry.content.clone()].to_owned()).collect();
    own.retain(|entry| entry != "type: Note\n");
    own.sort();
    own
}

/// Elements that share ids, contents or both, and an order to put them in.
fn namesakes() -> impl Strategy<Value = (Vec<&'static str>, Vec<usize>)> {
    let blocks = select(&notes::NAMESAKES[..]);
    prop::collection::vec(blocks, 1..8).prop_flat_map(|blocks| {
        let order: Vec<usize> = (0..blocks.len()).collect();
        (Just(blocks), Just(order).prop_shuffle())
    })
}

/// How often `wanted` stands in the text, also where it overlaps with itself.
fn n_places(text: &str, wanted: &str) -> usize {
    text.char_indices().filter(|(at, _)| text[*at..].starts_with(wanted)).count()
}

fn body_of(stored: &str) -> &str {
    &stored[parse(stored).body]
}

/// The text without the placeholder's lines, or without the image that it is the destination of.
fn without_placeholder(text: &str, id: &str) -> String {
    let inline = format!("![alt](vault-block:{id})");
    if text.contains(&inline) {
        return text.replace(&inline, "");
    }
    let opening = format!("vault-block id={id} kind=");
    let at = text.find(&opening).unwrap();
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let n_bytes: usize = text[start..].split_inclusive('\n').take(3).map(str::len).sum();
    [&text[..start], "\n", &text[start + n_bytes..]].concat()
}

fn check_spans(text: &str) {
    let document = parse(text);
    let spans = (document.links.iter().flat_map(|link| [&link.span, &link.destination, &link.text]))
        .chain(document.headings.iter().flat_map(|heading| [&heading.span, &heading.section]))
        .chain(document.blocks.iter().map(|block| &block.span))
        .chain(document.elements.iter().map(|element| &element.span))
        .chain(document.frontmatter.iter().flat_map(|block| block.entries.iter().map(|entry| &entry.span)));
    for span in spans {
        assert!(text.get(span.clone()).is_some(), "{span:?} of {text:?}");
    }
    for tag in &document.tags {
        assert_eq!(text[tag.span.clone()], format!("#{}", tag.name));
    }
    for id in &document.block_ids {
        assert_eq!(text[id.span.clone()], format!("^{}", id.id));
    }
}
