//! Claims and verdicts on a page: a tally, then one row for each claim.

use super::inline::inline;
use super::{Verdict, VerdictKind};
use crate::markup::{Markup, escape};

const KINDS: [VerdictKind; 3] = [VerdictKind::Reproduced, VerdictKind::NotReproduced, VerdictKind::Refuted];

pub(super) fn write(html: &mut Markup, verdicts: &[Verdict]) {
    tally(html, verdicts);
    html.open("table", &[("class", "verdicts")]);
    html.open("thead", &[]);
    html.open("tr", &[]);
    for name in ["Claim", "Measured", "Verdict", "Measure it again"] {
        html.leaf("th", &[("scope", "col")], name);
    }
    html.close("tr");
    html.close("thead");
    html.open("tbody", &[]);
    for verdict in verdicts {
        row(html, verdict);
    }
    html.close("tbody");
    html.close("table");
}

fn tally(html: &mut Markup, verdicts: &[Verdict]) {
    html.open("ul", &[("class", "tally")]);
    for kind in KINDS {
        let count = verdicts.iter().filter(|verdict| verdict.verdict == kind).count();
        html.wrap("li", &[], &format!("<strong>{count}</strong> {}", badge(kind)));
    }
    html.close("ul");
}

fn row(html: &mut Markup, verdict: &Verdict) {
    let id = format!("claim-{}", verdict.id);
    html.open("tr", &[("id", &id)]);
    let name = format!("<span class=\"claim\">{}</span> {}", escape(&verdict.id), inline(&verdict.claim));
    html.wrap("th", &[("scope", "row")], &name);
    html.wrap("td", &[("data-label", "Measured")], &inline(&verdict.measured));
    html.wrap("td", &[("data-label", "Verdict")], &badge(verdict.verdict));
    html.wrap("td", &[("data-label", "Measure it again")], &command(&verdict.command));
    html.close("tr");
}

/// A command that one click selects. Lines break between its words only, not after the hyphens of an option.
fn command(command: &str) -> String {
    let words: Vec<String> = command.split(' ').map(|word| format!("<span>{}</span>", escape(word))).collect();
    format!("<code class=\"command\">{}</code>", words.join(" "))
}

/// A word and a sign in a colour.
fn badge(kind: VerdictKind) -> String {
    let (class, word, sign) = match kind {
        VerdictKind::Reproduced => ("reproduced", "Reproduced", "M3.5 8.5l3 3 6-7"),
        VerdictKind::NotReproduced => ("not-reproduced", "Not reproduced", "M3.5 6h9M3.5 10h9M10.5 3l-5 10"),
        VerdictKind::Refuted => ("refuted", "Refuted", "M4 4l8 8M12 4l-8 8"),
    };
    let icon = format!("<svg viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"{sign}\"/></svg>");
    format!("<span class=\"badge {class}\">{icon}{word}</span>")
}
