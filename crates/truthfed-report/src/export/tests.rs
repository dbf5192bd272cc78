use resvg::tiny_skia::Pixmap;

use super::*;
use crate::chart::{Axis, Bar, BarGroup, Chart, Point, Series, Value};

fn lines(names: &[&str]) -> Chart {
    let points = |shift: f64| (0..50).map(move |i| Point::new(f64::from(i), shift * f64::from(i), 1.0));
    let series = names.iter().enumerate().map(|(i, name)| Series::new(*name, points(i as f64)));
    Chart::lines("Lines", Axis::linear("time"), Axis::linear("regret"), series)
}

fn bars(names: &[&str]) -> Chart {
    let bar = Bar::new("bar", -2e5, 1e4).with_label("a value");
    let groups = names.iter().map(|name| BarGroup::new(*name, [bar.clone()]));
    Chart::bars("Bars", Axis::linear("units"), groups)
}

fn figure(charts: Vec<Chart>) -> Figure {
    Figure::new("a-figure_1", "Title", "", charts).in_columns(2)
}

/// Many translucent bands, the case in which svg2pdf's order varies most.
fn busy() -> Figure {
    figure(vec![lines(&["a", "b", "c", "d", "e"]), bars(&["x", "y"])])
}

fn without_text(svg: &str) -> String {
    svg.lines().filter(|line| !line.starts_with("<text")).map(|line| format!("{line}\n")).collect()
}

fn picture(svg: &str) -> Pixmap {
    png::draw(&parse("test", svg).unwrap()).unwrap()
}

fn dark_pixels(pixels: &Pixmap) -> usize {
    pixels.pixels().iter().filter(|pixel| pixel.red() < 200).count()
}

#[test]
fn a_figure_becomes_five_files() {
    let files = figure_files(&busy()).unwrap();
    let starts: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), &bytes[..5])).collect();
    let expected: [(&str, &[u8; 5]); 5] = [
        ("a-figure_1.svg", b"<svg "),
        ("a-figure_1.pdf", b"%PDF-"),
        ("a-figure_1-column.pdf", b"%PDF-"),
        ("a-figure_1.png", b"\x89PNG\r"),
        ("a-figure_1.csv", b"chart"),
    ];
    assert_eq!(starts, expected.map(|(name, start)| (name, &start[..])));
}

#[test]
fn a_figure_that_knows_its_repetitions_has_a_file_of_them() {
    let bar = Bar::new("b", 2.0, 1.0).with_values(Value::from_seed(1, [1.0, 3.0]));
    let files = figure_files(&figure(vec![Chart::bars("", Axis::linear(""), [BarGroup::new("g", [bar])])])).unwrap();
    let (name, bytes) = files.last().unwrap();
    assert_eq!(name, "a-figure_1-seeds.csv");
    assert_eq!(std::str::from_utf8(bytes).unwrap(), "chart,group,bar,seed,value\na,g,b,1,1\na,g,b,2,3\n");
}

#[test]
fn the_same_figure_gives_the_same_files() {
    let tree = || parse("test", &busy().to_svg()).unwrap();
    let pdf = to_pdf("test", &tree()).unwrap();
    let png = to_png("test", &tree()).unwrap();
    for _ in 0..8 {
        assert_eq!(to_pdf("test", &tree()).unwrap(), pdf);
    }
    assert_eq!(to_png("test", &tree()).unwrap(), png);
    let text = String::from_utf8_lossy(&pdf);
    assert!(!text.contains("Date") && !text.contains("/ID"));
}

#[test]
fn the_pdf_holds_text_in_the_embedded_font() {
    let pdf = to_pdf("test", &parse("test", &busy().to_svg()).unwrap()).unwrap();
    let text = String::from_utf8_lossy(&pdf);
    assert!(text.contains("+Inter-Regular") && text.contains("/ToUnicode"));
}

#[test]
fn the_png_has_twice_the_size_of_the_figure() {
    let svg = busy().to_svg();
    let file = to_png("test", &parse("test", &svg).unwrap()).unwrap();
    let pixels = Pixmap::decode_png(&file).unwrap();
    assert!(svg.contains("width=\"840\""));
    assert!(svg.contains(&format!("height=\"{}\"", pixels.height() / 2)));
    assert_eq!(pixels.width(), 1680);
}

#[test]
fn the_png_shows_the_drawing_and_its_text() {
    let svg = busy().to_svg();
    let (all, silent) = (dark_pixels(&picture(&svg)), dark_pixels(&picture(&without_text(&svg))));
    assert!(silent > 1000, "{silent} dark pixels");
    assert!(all > silent + 1000, "{all} dark pixels with text, {silent} without");
}

#[test]
fn nothing_is_drawn_beyond_the_edge_of_a_figure() {
    let names = ["a-rather-long-name-of-a-group", "two words", "x", "another-rather-long-name"];
    for columns in 1..=4 {
        for charts in [vec![bars(&names), lines(&["a"]), bars(&["x"]), lines(&names)], vec![lines(&names)]] {
            let tree = parse("test", &Figure { columns, ..figure(charts) }.to_svg()).unwrap();
            let (drawn, size) = (tree.root().abs_layer_bounding_box(), tree.size());
            assert!(drawn.left() >= 0.0 && drawn.top() >= 0.0, "{columns} columns: {drawn:?}");
            assert!(drawn.right() <= size.width() && drawn.bottom() <= size.height(), "{columns} columns: {drawn:?}");
        }
    }
}

#[test]
fn there_is_one_font_and_it_is_loaded_once() {
    assert_eq!(FONTS.len(), 1);
    let pointer = Arc::as_ptr(&FONTS);
    assert!(std::ptr::eq(pointer, Arc::as_ptr(parse("test", &busy().to_svg()).unwrap().fontdb())));
}

#[test]
fn an_id_that_cannot_name_files_is_refused() {
    for id in ["", "../up", "a b", "ä", "a.b", "C:x"] {
        let result = figure_files(&Figure { id: id.to_owned(), ..busy() });
        assert!(matches!(result, Err(ExportError::Id { .. })), "{id:?}");
    }
}
