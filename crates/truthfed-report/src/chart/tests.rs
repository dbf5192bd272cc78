use super::*;
use resvg::usvg::roxmltree::Document;

const EVIL: &str = "<b>&\"'";

fn axis(scale: Scale) -> Axis {
    Axis { label: "label".to_owned(), scale, covers: None }
}

fn points(values: &[(f64, f64)]) -> Vec<Point> {
    values.iter().map(|(x, mean)| Point::new(*x, *mean, 0.0)).collect()
}

fn line(scale: Scale, series: Vec<(&str, Vec<Point>)>) -> Chart {
    let series = series.into_iter().map(|(name, points)| Series::new(name, points));
    Chart::lines("lines", axis(scale), axis(scale), series)
}

fn bars(scale: Scale, groups: &[&[(&str, f64)]]) -> Chart {
    let bar = |(name, height): &(&str, f64)| Bar::new(*name, *height, 0.0);
    let groups = groups.iter().map(|bars| BarGroup::new("group", bars.iter().map(bar)));
    Chart::bars("bars", axis(scale), groups)
}

fn figure(charts: Vec<Chart>) -> Figure {
    Figure::new("id", "title", "caption", charts).in_columns(2)
}

/// Draws and checks that the result is well-formed and holds no number that is none.
fn check(charts: Vec<Chart>) -> String {
    let svg = figure(charts).to_svg();
    Document::parse(&svg).unwrap();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    svg
}

/// Outlines filled with that colour, as lists of coordinates.
fn filled(svg: &str, colour: &str) -> Vec<Vec<f64>> {
    let document = Document::parse(svg).unwrap();
    let shapes = document.descendants().filter(|node| node.attribute("fill") == Some(colour));
    let numbers = |data: &str| data.split(['M', 'L', 'Z', ' ']).filter_map(|number| number.parse().ok()).collect();
    shapes.filter_map(|node| node.attribute("d")).map(numbers).collect()
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text") || node.tag_name().name() == "text");
    texts.filter_map(|node| node.text()).map(str::to_owned).collect()
}

fn evil() -> Figure {
    let axis = || Axis::linear(EVIL);
    let bar = Bar::new(format!("{EVIL}1"), 1.0, 0.1).with_label(EVIL);
    let series = Series::new(format!("{EVIL}2"), points(&[(0.0, 1.0), (1.0, 2.0)]));
    let lines = Chart::lines(EVIL, axis(), axis(), [series]);
    let bars = Chart::bars(EVIL, axis(), [BarGroup::new(EVIL, [bar])]);
    Figure::new(EVIL, EVIL, EVIL, [lines, bars]).in_columns(2)
}

#[test]
fn every_text_of_a_figure_is_escaped() {
    let svg = evil().to_svg();
    assert!(!svg.contains("<b>"));
    let mut found = texts(&svg);
    found.retain(|text| text.contains(EVIL));
    // Two titles, two names, three axis labels, a group and the value of a bar.
    assert_eq!(found.len(), 9);
    assert!(!evil().render(Theme::Page).contains("<b>"));
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    assert_eq!(evil().to_svg(), evil().to_svg());
    assert_eq!(evil().to_csv(), evil().to_csv());
}

#[test]
fn a_page_decides_all_colours_and_a_file_none_by_variables() {
    let page = evil().render(Theme::Page);
    assert!(page.contains("var(--fig-ink)") && !page.contains("=\"#") && !page.contains("http"));
    assert!(!evil().to_svg().contains("var("));
}

#[test]
fn awkward_lines_are_drawn() {
    for scale in [Scale::Linear, Scale::Log] {
        assert!(texts(&check(vec![line(scale, vec![])])).contains(&"no data".to_owned()));
        assert!(texts(&check(vec![line(scale, vec![("empty", vec![])])])).contains(&"no data".to_owned()));
        check(vec![line(scale, vec![("one", points(&[(3.0, 4.0)]))])]);
        check(vec![line(scale, vec![("equal", points(&[(1.0, 7.0), (1.0, 7.0), (1.0, 7.0)]))])]);
        check(vec![line(scale, vec![("zero", points(&[(0.0, 0.0), (1.0, 0.0)]))])]);
        check(vec![line(scale, vec![("tiny", points(&[(1e-300, 1e-308), (1.0, 1e308)]))])]);
    }
}

#[test]
fn values_that_are_not_finite_are_left_out_and_break_the_line() {
    let values = [(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, f64::INFINITY), (4.0, 3.0), (5.0, 4.0)];
    let svg = check(vec![line(Scale::Linear, vec![("gap", points(&values))])]);
    let strokes = svg.lines().filter(|line| line.contains("stroke=\"#0072b2\"") && line.contains("1.9"));
    let starts: Vec<usize> = strokes.map(|line| line.matches('M').count()).collect();
    assert_eq!(starts, [1, 2], "the key of the legend, then the line");
}

/// A rising line of so many points.
fn rising(count: u32, error: f64) -> String {
    let points = (0..count).map(|i| Point::new(f64::from(i), f64::from(i), error)).collect();
    check(vec![line(Scale::Linear, vec![("series", points)])])
}

#[test]
fn an_error_that_is_not_finite_or_negative_counts_as_none() {
    let none = rising(20, 0.0);
    assert_eq!([rising(20, f64::NAN), rising(20, -1.0), rising(20, f64::INFINITY)], [(); 3].map(|()| none.clone()));
}

#[test]
fn short_series_have_error_bars_and_long_ones_bands() {
    let has_band = |count, error| rising(count, error).contains("fill-opacity");
    assert_eq!([has_band(10, 1.0), has_band(20, 1.0), has_band(100, 1.0)], [false, true, true]);
    assert!(!has_band(20, 0.0));
}

#[test]
fn a_long_series_is_drawn_through_at_most_300_points() {
    let values: Vec<(f64, f64)> = (0..50_000).map(|i| (f64::from(i), libm::sin(f64::from(i) / 500.0))).collect();
    let wave = line(Scale::Linear, vec![("wave", points(&values))]);
    let svg = check(vec![wave.clone()]);
    let longest = svg.lines().map(|line| line.matches('L').count()).max().unwrap();
    assert!((200..300).contains(&longest), "{longest}");
    assert_eq!(figure(vec![wave]).to_csv().lines().count(), 50_001);
}

#[test]
fn bars_stand_on_zero_and_hang_from_it() {
    let svg = check(vec![bars(Scale::Linear, &[&[("a", 5.0), ("b", -3.0)]])]);
    let (up, down) = (&filled(&svg, "#0072b2")[1], &filled(&svg, "#d55e00")[1]);
    let (bottom, top) = (up[5], down[1]);
    assert_eq!(bottom, top);
    assert!(up[1] < bottom && down[5] > top);
}

#[test]
fn awkward_bars_are_drawn() {
    for scale in [Scale::Linear, Scale::Log] {
        check(vec![bars(scale, &[])]);
        check(vec![bars(scale, &[&[]])]);
        check(vec![bars(scale, &[&[("zero", 0.0)], &[("zero", 0.0)]])]);
        check(vec![bars(scale, &[&[("equal", 7.0)], &[("equal", 7.0)]])]);
        check(vec![bars(scale, &[&[("below", -1e12), ("above", 1e-9)]])]);
        let svg = check(vec![bars(scale, &[&[("missing", f64::NAN), ("there", 1.0)]])]);
        assert!(texts(&svg).contains(&"n/a".to_owned()));
    }
}

#[test]
fn many_groups_with_long_or_empty_names_are_drawn() {
    let bar = || vec![Bar::new("", 1.0, f64::NAN).with_label("12345678")];
    let name = |index: usize| if index == 3 { String::new() } else { "an-unbreakablyverylongname of it".to_owned() };
    let groups = (0..30).map(|index| BarGroup::new(name(index), bar()));
    check(vec![Chart::bars("", axis(Scale::Linear), groups)]);
}

#[test]
fn bars_of_one_name_have_one_colour_in_all_groups_and_charts() {
    let one = || bars(Scale::Linear, &[&[("a", 1.0), ("b", 2.0)], &[("b", 3.0)]]);
    let svg = check(vec![one(), one()]);
    // The key of the shared legend, and in each chart one bar named a and two named b.
    assert_eq!(filled(&svg, "#0072b2").len(), 3);
    assert_eq!(filled(&svg, "#d55e00").len(), 5);
}

#[test]
fn charts_share_a_legend_when_they_share_names_and_have_their_own_otherwise() {
    let of = |names: &[&str]| line(Scale::Linear, names.iter().map(|name| (*name, points(&[(0.0, 1.0)]))).collect());
    let count = |charts| texts(&check(charts)).iter().filter(|text| *text == "x").count();
    assert_eq!(count(vec![of(&["x", "y"]), of(&["x"])]), 1);
    assert_eq!(count(vec![of(&["x", "y"]), of(&["x", "z"])]), 2);
}

#[test]
fn several_charts_have_letters_and_a_single_one_has_none() {
    let titles = |count: usize| texts(&check(vec![line(Scale::Linear, vec![]); count]));
    assert!(titles(1).contains(&"lines".to_owned()));
    assert!(titles(3).contains(&"(c) lines".to_owned()));
    assert_eq!([letter(0), letter(25), letter(26), letter(52)], ["a", "z", "aa", "ba"]);
}

#[test]
fn any_number_of_columns_is_taken() {
    for columns in [0, 1, 3, 99] {
        for count in [0, 1, 5] {
            let charts = vec![line(Scale::Linear, vec![]); count];
            Document::parse(&Figure { columns, ..figure(charts) }.to_svg()).unwrap();
        }
    }
}

#[test]
fn csv_has_the_columns_of_its_kind() {
    let lines = line(Scale::Linear, vec![("s", vec![Point::new(1.0, 0.1, f64::NAN)])]);
    let bar = bars(Scale::Linear, &[&[("b", 1e-7)]]);
    assert_eq!(figure(vec![lines.clone()]).to_csv(), "chart,series,x,mean,sd\nlines,s,1,0.1,\n");
    assert_eq!(figure(vec![bar.clone()]).to_csv(), "chart,group,bar,height,sd,label\nbars,group,b,1e-7,0,\n");
    let both = "chart,series,x,mean,sd,group,bar,height,label\nlines,s,1,0.1,,,,,\nbars,,,,0,group,b,1e-7,\n";
    assert_eq!(figure(vec![lines.clone(), bar]).to_csv(), both);
    let intervals = figure(vec![lines]).with_errors(Errors::Intervals).to_csv();
    assert_eq!(intervals, "chart,series,x,mean,half_95\nlines,s,1,0.1,\n");
}

#[test]
fn repetitions_are_listed_one_to_a_row_and_only_if_there_are_any() {
    let point = Point::new(0.5, 2.0, 1.0).with_values(Value::from_seed(7, [1.0, 3.0]));
    let lines = line(Scale::Linear, vec![("s", vec![point, Point::new(1.0, 0.0, 0.0)])]);
    let bar = bars(Scale::Linear, &[&[("b", 1.0)]]);
    assert_eq!(figure(vec![bar.clone()]).to_seeds_csv(), None);
    let expected = "chart,series,x,seed,value\nlines,s,0.5,7,1\nlines,s,0.5,8,3\n";
    assert_eq!(figure(vec![lines.clone()]).to_seeds_csv().as_deref(), Some(expected));
    let both = "chart,series,x,group,bar,seed,value\nlines,s,0.5,,,7,1\nlines,s,0.5,,,8,3\n";
    assert_eq!(figure(vec![lines, bar]).to_seeds_csv().as_deref(), Some(both));
}

#[test]
fn charts_that_cover_the_same_have_the_same_ticks() {
    let chart = |high: f64| {
        let y = axis(Scale::Linear).covering(-10.0, 50.0);
        Chart::lines("lines", axis(Scale::Linear), y, [Series::new("s", points(&[(1.0, 0.0), (2.0, high)]))])
    };
    let ticks = |high: f64| {
        let svg = figure(vec![chart(high)]).to_svg();
        let texts = svg.lines().filter(|line| line.starts_with("<text")).map(str::to_owned);
        texts.collect::<Vec<_>>()
    };
    assert_eq!(ticks(3.0), ticks(49.0));
}

#[test]
fn values_that_would_touch_each_other_are_left_out() {
    let groups = |count: usize| {
        let bar = |at: usize| Bar::new(format!("bar {at}"), 1.0, 0.0).with_label("+12345");
        let group = |at: usize| BarGroup::new(format!("g{at}"), (0..4).map(bar));
        figure(vec![Chart::bars("", axis(Scale::Linear), (0..count).map(group))]).for_column().to_svg()
    };
    assert!(groups(2).contains("+12345"));
    assert!(!groups(8).contains("+12345"));
}

#[test]
fn csv_quotes_what_would_break_it() {
    let chart = line(Scale::Linear, vec![("a, \"b\"\nc", points(&[(1.0, 2.0)]))]);
    assert_eq!(figure(vec![chart]).to_csv(), "chart,series,x,mean,sd\nlines,\"a, \"\"b\"\"\nc\",1,2,0\n");
}

#[test]
fn a_figure_as_wide_as_a_column_stacks_its_charts_and_keeps_its_type() {
    let charts = || {
        vec![line(Scale::Linear, vec![("a", points(&[(0.0, 1.0), (5.0, 2.0)]))]), bars(Scale::Linear, &[&[("a", 1.0)]])]
    };
    let size = |svg: &str| {
        let document = Document::parse(svg).unwrap();
        ["width", "height"].map(|name| document.root_element().attribute(name).unwrap().parse::<f64>().unwrap())
    };
    let (wide, narrow) = (figure(charts()).to_svg(), figure(charts()).with_width(3.3 * 96.0).to_svg());
    let ([wide_width, wide_height], [width, height]) = (size(&wide), size(&narrow));
    assert_eq!((wide_width, width), (840.0, 317.0));
    assert!(height > 1.5 * wide_height, "two rows instead of one: {height} {wide_height}");
    let sizes = |svg: &str| {
        let document = Document::parse(svg).unwrap();
        let sizes = document.descendants().filter_map(|node| node.attribute("font-size").map(str::to_owned));
        sizes.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(sizes(&narrow), sizes(&wide));
    let right = |x: f64| x <= 317.0;
    let document = Document::parse(&narrow).unwrap();
    assert!(document.descendants().filter_map(|node| node.attribute("x")).all(|x| right(x.parse().unwrap())));
    assert_eq!(size(&figure(charts()).with_width(1.0).to_svg())[0], 160.0);
}

#[test]
fn a_palette_keeps_a_colour_for_a_name_and_what_begins_with_it() {
    let of = |names: &[&str]| line(Scale::Linear, names.iter().map(|name| (*name, points(&[(0.0, 1.0)]))).collect());
    let strokes = |names: &[&str]| {
        let svg = figure(vec![of(names)]).with_palette(["a", "b", "c"]).to_svg();
        let keys = svg.lines().filter(|line| line.contains("stroke=\"#") && line.contains("1.9"));
        let stroke = |line: &str| line.split("stroke=\"").nth(1).unwrap()[..7].to_owned();
        keys.map(stroke).take(names.len()).collect::<Vec<_>>()
    };
    assert_eq!(strokes(&["b"]), ["#d55e00"]);
    assert_eq!(strokes(&["c", "a", "b, twice"]), ["#009e73", "#0072b2", "#d55e00"]);
    assert_eq!(strokes(&["a", "another"]), ["#0072b2", "#cc79a7"]);
    assert_eq!(strokes(&["nobody", "knows"]), ["#0072b2", "#d55e00"]);
}

#[test]
fn for_a_column_charts_stand_one_below_the_other_within_its_width() {
    let wide = Figure { columns: 3, ..figure(vec![bars(Scale::Linear, &[&[("a", 1.0)]]); 3]) };
    let svg = wide.for_column().to_svg();
    let root = Document::parse(&svg).unwrap();
    let size = |name: &str| root.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
    assert!((size("width") - COLUMN_WIDTH).abs() < 0.1 && size("height") > 3.0 * 180.0);
    let places = root.descendants().filter_map(|node| node.attribute("x")?.parse::<f64>().ok());
    assert!(places.into_iter().all(|x| (0.0..=COLUMN_WIDTH).contains(&x)));
}
