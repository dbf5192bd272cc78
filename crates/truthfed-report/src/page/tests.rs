use resvg::usvg::roxmltree::{Document, Node};

use super::*;
use crate::chart::{Axis, Chart, Point, Series};

const EVIL: &str = "<b>&\"'";

fn figure(id: &str, text: &str) -> Figure {
    let points = [Point::new(0.0, 1.0, 0.5), Point::new(1.0, 2.0, 0.5)];
    let chart = Chart::lines(text, Axis::linear(text), Axis::linear(text), [Series::new(text, points)]);
    Figure::new(id, text, text, [chart])
}

fn table(text: &str) -> Table {
    let cells = || vec![text.to_owned(), "1".to_owned()];
    Table::new(text, cells(), [cells(), cells()]).with_numeric([1])
}

fn verdict(text: &str, verdict: VerdictKind) -> Verdict {
    Verdict::new(text, text, text, verdict, text)
}

fn matrix(text: &str) -> Matrix {
    let [name, about, columns, measured, command] = std::array::from_fn(|_| text.to_owned());
    let details = vec![Detail { columns, verdict: VerdictKind::Refuted, measured, command }];
    let [id, source, claim, synthesis] = std::array::from_fn(|_| text.to_owned());
    let row = Row { id, source, claim, synthesis, marks: vec![VerdictKind::Reproduced], details };
    Matrix { columns: vec![Column { name, about }], rows: vec![row] }
}

fn section(id: &str, text: &str, items: Vec<Item>) -> Section {
    Section::new(id, text, [text], items)
}

fn page(text: &str) -> Page {
    let kinds = [VerdictKind::Reproduced, VerdictKind::NotReproduced, VerdictKind::Refuted];
    let verdicts = kinds.into_iter().map(|kind| verdict(text, kind)).collect();
    Page {
        title: text.to_owned(),
        lead: text.to_owned(),
        sections: vec![
            section("claims", text, vec![Item::Verdicts(verdicts), Item::List(vec![text.to_owned()])]),
            section("matrix", text, vec![Item::Matrix(matrix(text))]),
            section("one", text, vec![Item::Figure(figure("first", text)), Item::Table(table(text))]),
            section("two", text, vec![Item::Figure(figure("second", text)), Item::Table(table(text))]),
        ],
        footer: format!("{text}\n\n{text}"),
    }
}

fn body(html: &str) -> &str {
    let (start, end) = (html.find("<body").unwrap(), html.find("</body>").unwrap());
    &html[start..end + "</body>".len()]
}

#[test]
fn every_text_of_a_page_is_escaped() {
    let html = page(EVIL).to_html();
    assert!(!html.contains("<b>"));
    // Well-formed as XML, so no quote ended an attribute and no bracket opened an element.
    let document = Document::parse(body(&html)).unwrap();
    let whole = |node: &Node<'_, '_>| node.text().is_some_and(|text| text.contains("<b>&\"'"));
    let texts = document.descendants().filter(|node| node.is_text() && whole(node)).count();
    // Title and lead; 4 contents; 4 headings and 4 paragraphs; 3 verdicts of 4 texts; a line; a matrix of 9; 2 figures, each
    // drawn twice with 4 texts, and a caption of 2; 2 tables of 4; 2 paragraphs of the footer.
    assert_eq!(texts, 2 + 4 + 8 + 12 + 1 + 9 + 2 * (8 + 2) + 2 * 4 + 2);
    assert!(html.contains("<title>&lt;b&gt;&amp;&quot;&#39;</title>"));
}

#[test]
fn nothing_is_loaded_from_elsewhere_and_nothing_is_run() {
    let html = page("text").to_html();
    for forbidden in ["http://", "https://", "<script", "src=", "<link", "@import", "url(//", "javascript:"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    assert!(html.contains("default-src 'none'"));
}

fn check_contains(fragments: &[String]) {
    let html = page("text").to_html();
    fragments.iter().for_each(|fragment| assert!(html.contains(fragment), "{fragment}"));
}

#[test]
fn the_contents_lead_to_every_section() {
    for id in ["claims", "one", "two"] {
        check_contains(&[format!("<a href=\"#{id}\">"), format!("<section id=\"{id}\"")]);
    }
}

#[test]
fn figures_and_tables_are_numbered_through_the_page_and_link_to_their_files() {
    let texts = ["Figure 1. text.", "Figure 2. text.", "Table 1.", "Table 2.", "id=\"fig-second\""];
    check_contains(&texts.map(str::to_owned));
    let endings = [".svg", ".pdf", "-column.pdf", ".png", ".csv"];
    check_contains(&endings.map(|ending| format!("href=\"figures/second{ending}\"")));
}

#[test]
fn figures_have_a_name_and_numbers_are_set_to_the_right() {
    let name = "role=\"img\" aria-label=\"text\"";
    let numbers = ["<td class=\"number\">1</td>", "<th scope=\"col\" class=\"number\">1</th>"];
    check_contains(&[name, numbers[0], numbers[1]].map(str::to_owned));
}

#[test]
fn verdicts_are_told_by_word_and_counted() {
    let html = page("text").to_html();
    for word in ["Reproduced", "Not reproduced", "Refuted"] {
        // In the tallies of the verdicts and of the matrix, in a row of verdicts; and one detail of the matrix.
        let count = 3 + usize::from(word == "Refuted");
        assert_eq!(html.matches(&format!("</svg>{word}</span>")).count(), count, "{word}");
    }
    assert_eq!(html.matches("<strong>1</strong>").count(), 3);
}

#[test]
fn what_is_undecided_is_told_only_if_something_is() {
    assert!(!page("text").to_html().contains("Undecided"));
    let verdicts = vec![verdict("x", VerdictKind::Undecided)];
    let sections = vec![section("claims", "Claims", vec![Item::Verdicts(verdicts)])];
    let html = Page { sections, ..page("text") }.to_html();
    assert_eq!(html.matches("</svg>Undecided</span>").count(), 2, "in the tally and in the row");
}

#[test]
fn a_matrix_has_a_mark_for_each_column_that_can_be_heard_and_folds_its_details_away() {
    let html = page("text").to_html();
    assert!(html.contains("<td class=\"mark\" title=\"text: Reproduced\">"));
    assert!(html.contains("<span class=\"heard\">Reproduced</span>"));
    let (before, after) = html.split_once("<details").unwrap();
    assert!(before.contains("id=\"claim-text\"") && after.contains("class=\"detail\""));
}

#[test]
fn a_figure_is_drawn_for_wide_and_for_narrow_screens() {
    let html = page("text").to_html();
    for class in ["canvas wide", "canvas narrow"] {
        assert_eq!(html.matches(&format!("<div class=\"{class}\">")).count(), 2);
    }
}

#[test]
fn a_command_keeps_its_text_when_copied() {
    let verdict = Verdict { command: "truthfed reproduce --only C1".to_owned(), ..verdict("x", VerdictKind::Refuted) };
    let sections = vec![section("claims", "Claims", vec![Item::Verdicts(vec![verdict])])];
    let html = Page { sections, ..page("text") }.to_html();
    let document = Document::parse(body(&html)).unwrap();
    let command = document.descendants().find(|node| node.attribute("class") == Some("command")).unwrap();
    let texts = command.descendants().filter(Node::is_text);
    let text: String = texts.filter_map(|node| node.text().map(str::to_owned)).collect();
    assert_eq!(text, "truthfed reproduce --only C1");
}

#[test]
fn the_font_is_inside_only_when_a_figure_needs_it() {
    assert!(page("text").to_html().contains("@font-face"));
    assert!(!Page { sections: vec![], ..page("text") }.to_html().contains("@font-face"));
}

#[test]
fn the_same_page_gives_the_same_bytes() {
    assert_eq!(page("text").to_html(), page("text").to_html());
}
