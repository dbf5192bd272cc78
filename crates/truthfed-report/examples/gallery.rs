//! One of each: every kind of figure with made-up data, as a page and as files.
//!
//! `cargo run -p truthfed-report --example gallery -- <folder>` writes `<folder>/index.html` and `<folder>/figures/`.

use std::error::Error;
use std::path::PathBuf;

use truthfed_report::chart::{Axis, Bar, BarGroup, Chart, Figure, Point, Series};
use truthfed_report::export::figure_files;
use truthfed_report::page::{Item, Page, Section, Table, Verdict, VerdictKind};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: gallery <folder>")?);
    let page = page();
    std::fs::create_dir_all(folder.join("figures"))?;
    for item in page.sections.iter().flat_map(|section| &section.items) {
        if let Item::Figure(figure) = item {
            for (name, bytes) in figure_files(figure)? {
                std::fs::write(folder.join("figures").join(name), bytes)?;
            }
        }
    }
    std::fs::write(folder.join("index.html"), page.to_html())?;
    Ok(())
}

fn page() -> Page {
    let section = |id: &str, title: &str, text: &str, items: Vec<Item>| Section::new(id, title, [text], items);
    let claims = "Each row names a claim, what was measured, and how to measure it again.";
    let lines = "Long series have bands, short ones have error bars.";
    let bars = "Bars of one name look alike in all groups; they may point down.";
    let panels = "Charts side by side share a legend when they share names.";
    Page {
        title: "Gallery of figures".to_owned(),
        lead: "Every kind of figure and table that a report can hold, drawn from made-up data. None of these numbers \
               was measured."
            .to_owned(),
        sections: vec![
            section("claims", "Claims", claims, vec![Item::Verdicts(verdicts())]),
            section("lines", "Lines", lines, vec![regret().into(), scaling().into()]),
            section("bars", "Bars", bars, vec![normalised().into(), utility().into()]),
            section("panels", "Panels", panels, vec![palette().into(), awkward().into()]),
            section("settings", "Settings and seeds", "All of it follows from `--seed 1`.", vec![settings().into()]),
        ],
        footer: "Written by `cargo run -p truthfed-report --example gallery`.".to_owned(),
    }
}

fn verdicts() -> Vec<Verdict> {
    let claim = |id: &str, claim: &str, measured: &str, kind: VerdictKind| {
        Verdict::new(id, claim, measured, kind, &format!("truthfed reproduce --only {id} --seeds 5"))
    };
    let grows = "Regret grows like √T, up to logarithms, under every mechanism.";
    let lower = "Incentive and social cost are lower than with `vanilla-greedy`.";
    let cost = "Incentive cost 1.61 times, social cost 1.35 times that of the greedy, at ε = 1 and N = 25.";
    let truthful = "Algorithm 1 is truthful: no client gains by asking for more or less than its cost.";
    let higher = "374 of 600 random rounds have a client that loses at a lower ask and wins at a higher one.";
    vec![
        claim("C1", grows, "Slope 0.52 ± 0.01 on a log-log scale, 5 seeds.", VerdictKind::Reproduced),
        claim("C2", lower, cost, VerdictKind::NotReproduced),
        claim("C3", truthful, higher, VerdictKind::Refuted),
    ]
}

fn settings() -> Table {
    let rows = [
        ["`clients`", "N", "25", "clients in the federation"],
        ["`dimension`", "d", "5", "length of a context"],
        ["`steps`", "T", "6250", "decisions of all clients together"],
        ["`coverage`", "β", "0.5", "share of the information that must be bought"],
        ["`noise`", "σ", "0.1", "standard deviation of a reward"],
        ["`reserve`", "", "10000", "the most that a client is ever paid"],
    ];
    let rows = rows.map(|row| row.map(str::to_owned).to_vec());
    Table::new("Settings of all runs", ["setting", "symbol", "value", "meaning"], rows).with_numeric([2])
}

fn series(name: &str, xs: impl Iterator<Item = f64>, value: impl Fn(f64) -> (f64, f64)) -> Series {
    let point = |x| {
        let (mean, sd) = value(x);
        Point::new(x, mean, sd)
    };
    Series::new(name, xs.map(point))
}

fn bar(name: &str, height: f64, sd: f64, label: Option<String>) -> Bar {
    Bar { label, ..Bar::new(name, height, sd) }
}

/// Something that looks like noise and is the same every time.
fn ripple(x: f64) -> f64 {
    (x * 0.013).sin() * 0.5 + (x * 0.071).sin() * 0.3 + (x * 0.337).cos() * 0.2
}

fn regret() -> Figure {
    let line = |name: &str, slope: f64, power: f64| {
        series(name, (1..=6250).map(f64::from), |t| {
            let mean = slope * t.powf(power) + ripple(t) * t.sqrt() * 0.2;
            (mean.max(0.0), 0.12 * mean.max(0.0))
        })
    };
    let lines = [
        line("clock", 2.0, 0.52),
        line("ratchet", 2.1, 0.53),
        line("truth-fedban (ε = 1)", 2.4, 0.55),
        line("no federation", 3.0, 0.62),
    ];
    let (x, y) = (Axis::linear("time step t"), Axis::linear("cumulative regret"));
    let caption = "Mean of 5 seeds; the band is one standard deviation. Federation lowers regret, whichever \
                   mechanism pays for it.";
    Figure::new("regret", "Regret over time", caption, [Chart::lines("N = 25 clients, d = 5", x, y, lines)])
}

fn scaling() -> Figure {
    let sizes = [25.0, 100.0, 1e3, 1e4, 1e5, 1e6];
    let line = |name: &str, base: f64, power: f64| {
        series(name, sizes.into_iter(), |n| {
            let mean = base * f64::powf(n, power);
            (mean, mean * 0.2)
        })
    };
    let lines = [
        line("clock", 2e-6, 1.02),
        line("ratchet", 4e-6, 1.1),
        line("truth-fedban (ε = 1)", 3e-7, 1.7),
        line("vanilla greedy", 6e-8, 1.95),
    ];
    let (x, y) = (Axis::log("clients N"), Axis::log("time (s)"));
    let chart = Chart::lines("Time for one round, payments included", x, y, lines);
    Figure::new("scaling", "Time per round", "Error bars are one standard deviation.", [chart])
}

fn normalised() -> Figure {
    let names = ["truth-fedban", "vanilla greedy", "inc-feducb", "clock", "ratchet"];
    let group = |name: &str, unit: f64, heights: [f64; 5]| {
        let one = |(name, height)| bar(name, height, 0.06 * height, Some(format!("{:.1}k", unit * height)));
        BarGroup::new(name, names.into_iter().zip(heights).map(one))
    };
    let groups = [
        group("regret", 1.8, [1.0, 1.02, 0.97, 0.99, 1.0]),
        group("communication", 31.2, [1.0, 0.82, 0.71, 0.76, 0.98]),
        group("incentive cost", 41.5, [1.0, 0.62, 0.33, 0.58, 0.94]),
        group("social cost", 22.0, [1.0, 0.74, 0.79, 0.72, 0.99]),
    ];
    let chart = Chart::bars("", Axis::linear("relative to truth-fedban"), groups);
    let caption = "Each quantity divided by that of truth-fedban; mean and standard deviation of 5 seeds.";
    Figure::new("normalised", "Mechanisms compared", caption, [chart])
}

fn utility() -> Figure {
    let group = |name: &str, utilities: [f64; 3]| {
        let label = |value: f64| format!("{value:+.1}").replace('-', "−");
        let one = |(ask, height): (&str, f64)| bar(ask, height, height.abs() * 0.15, Some(label(height)));
        BarGroup::new(name, ["asks half", "asks its cost", "asks double"].into_iter().zip(utilities).map(one))
    };
    let groups = [
        group("truth-fedban", [-12.4, 31.0, 44.9]),
        group("ratchet", [-8.1, 29.5, 20.3]),
        group("clock", [-15.0, 33.2, 18.7]),
    ];
    let chart = Chart::bars("Utility of one client, all others truthful", Axis::linear("utility (units)"), groups);
    let caption = "Overstating pays only under truth-fedban: its ask moves the grid of budgets.";
    Figure::new("utility", "What a lie earns", caption, [chart])
}

/// As many names as have a colour of their own, and one more.
fn palette() -> Figure {
    let names = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    let lines = names.iter().enumerate().map(|(index, name)| {
        series(name, (1..=6).map(|x| 10.0_f64.powi(x)), move |x| ((index + 1) as f64 * x.powf(0.3), 0.0))
    });
    let lines = Chart::lines("Lines", Axis::log("budget"), Axis::linear("gain"), lines);
    let one = |(index, name): (i32, &str)| {
        let height = 3.0 * 7.0_f64.powi(index);
        bar(name, height, 0.0, Some(format!("{height:.0}")))
    };
    let group = BarGroup::new("per round", (0..).zip(names).map(one));
    let bars = Chart::bars("Bars on a logarithmic axis", Axis::log("messages"), [group]);
    let caption = "Colours start again after eight; dashes and hatches shift.";
    Figure::new("palette", "Nine names", caption, [lines, bars]).in_columns(2)
}

fn awkward() -> Figure {
    let line = |title: &str, points: Vec<(f64, f64)>| {
        let points = points.into_iter().map(|(x, mean)| Point::new(x, mean, 0.0));
        Chart::lines(title, Axis::linear("x"), Axis::linear("y"), [Series::new("data", points)])
    };
    let group = |(name, height): (&str, f64)| BarGroup::new(name, [bar("data", height, 3e5, None)]);
    let groups = [
        ("mechanism-with-a-long-name", 2e6),
        ("another-long-mechanism", 4e6),
        ("third-of-the-mechanisms", 6e6),
        ("n/a there", f64::NAN),
    ];
    let charts = [
        line("Nothing", vec![]),
        line("One point", vec![(3.0, 4e-7)]),
        line("All equal", (0..40).map(|i| (f64::from(i), 7.0)).collect()),
        line(
            "A gap where a value is not a number",
            vec![(0.0, 1.0), (1.0, 3.0), (2.0, f64::NAN), (3.0, 2.0), (4.0, 5.0)],
        ),
        line("Large numbers", (0..10).map(|i| (f64::from(i) * 1e8, f64::from(i) * 3e9)).collect()),
        Chart::bars("Long names, one bar missing", Axis::linear("messages"), groups.map(group)),
    ];
    let caption = "What must not break a figure: <empty>, \"one\", & equal.";
    Figure::new("awkward", "Awkward data", caption, charts).in_columns(3)
}
