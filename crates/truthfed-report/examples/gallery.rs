//! One of each: every kind of figure with made-up data, as a page and as files.
//!
//! `cargo run -p truthfed-report --example gallery -- <folder>` writes `<folder>/index.html` and `<folder>/figures/`.

use std::error::Error;
use std::path::PathBuf;

use truthfed_report::chart::{Axis, Bar, BarChart, BarGroup, Chart, Figure, LineChart, Point, Scale, Series};
use truthfed_report::export::write_figure;
use truthfed_report::page::{Item, Page, Section, Table, Verdict, VerdictKind};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: gallery <folder>")?);
    let page = page();
    for item in page.sections.iter().flat_map(|section| &section.items) {
        if let Item::Figure(figure) = item {
            write_figure(&folder.join("figures"), figure)?;
        }
    }
    std::fs::write(folder.join("index.html"), page.to_html())?;
    Ok(())
}

fn page() -> Page {
    let figures = |figures: Vec<Figure>| figures.into_iter().map(Item::Figure).collect();
    Page {
        title: "Gallery of figures".to_owned(),
        lead: "Every kind of figure and table that a report can hold, drawn from made-up data. None of these numbers \
               was measured."
            .to_owned(),
        sections: vec![
            section(
                "claims",
                "Claims",
                "Each row names a claim, what was measured, and how to measure it again.",
                vec![Item::Verdicts(verdicts())],
            ),
            section(
                "lines",
                "Lines",
                "Long series have bands, short ones have error bars.",
                figures(vec![regret(), scaling()]),
            ),
            section(
                "bars",
                "Bars",
                "Bars of one name look alike in all groups; they may point down.",
                figures(vec![normalised(), utility()]),
            ),
            section(
                "panels",
                "Panels",
                "Charts side by side share a legend when they share names.",
                figures(vec![sweep(), mixed(), palette(), awkward()]),
            ),
            section(
                "settings",
                "Settings and seeds",
                "All of it follows from `--seed 1`.",
                vec![Item::Table(settings())],
            ),
        ],
        footer: "Written by `cargo run -p truthfed-report --example gallery`.".to_owned(),
    }
}

fn section(id: &str, title: &str, text: &str, items: Vec<Item>) -> Section {
    Section { id: id.to_owned(), title: title.to_owned(), text: vec![text.to_owned()], items }
}

fn verdicts() -> Vec<Verdict> {
    let verdict = |id: &str, claim: &str, measured: &str, verdict: VerdictKind, command: &str| Verdict {
        id: id.to_owned(),
        claim: claim.to_owned(),
        measured: measured.to_owned(),
        verdict,
        command: command.to_owned(),
    };
    vec![
        verdict(
            "C1",
            "Regret grows like √T, up to logarithms, under every mechanism.",
            "Slope 0.52 ± 0.01 on a log-log scale, 5 seeds.",
            VerdictKind::Reproduced,
            "truthfed reproduce --only C1 --seeds 5",
        ),
        verdict(
            "C2",
            "Incentive and social cost are lower than with `vanilla-greedy`.",
            "Incentive cost 1.61 times, social cost 1.35 times that of the greedy, at ε = 1 and N = 25.",
            VerdictKind::NotReproduced,
            "truthfed reproduce --only C2 --epsilon 1",
        ),
        verdict(
            "C3",
            "Algorithm 1 is truthful: no client gains by asking for more or less than its cost.",
            "374 of 600 random rounds have a client that loses at a lower ask and wins at a higher one.",
            VerdictKind::Refuted,
            "truthfed reproduce --only C3 --rounds 600 --seed 7",
        ),
    ]
}

fn settings() -> Table {
    let row = |name: &str, symbol: &str, value: &str, meaning: &str| {
        [name, symbol, value, meaning].map(str::to_owned).to_vec()
    };
    Table {
        caption: "Settings of all runs".to_owned(),
        header: ["setting", "symbol", "value", "meaning"].map(str::to_owned).to_vec(),
        rows: vec![
            row("`clients`", "N", "25", "clients in the federation"),
            row("`dimension`", "d", "5", "length of a context"),
            row("`steps`", "T", "6250", "decisions of all clients together"),
            row("`coverage`", "β", "0.5", "share of the information that must be bought"),
            row("`noise`", "σ", "0.1", "standard deviation of a reward"),
            row("`reserve`", "", "10000", "the most that a client is ever paid"),
        ],
        numeric: vec![2],
    }
}

fn axis(label: &str) -> Axis {
    Axis { label: label.to_owned(), scale: Scale::Linear }
}

fn log_axis(label: &str) -> Axis {
    Axis { label: label.to_owned(), scale: Scale::Log }
}

fn figure(id: &str, title: &str, caption: &str, columns: usize, charts: Vec<Chart>) -> Figure {
    Figure { id: id.to_owned(), title: title.to_owned(), caption: caption.to_owned(), charts, columns }
}

fn series(name: &str, xs: impl Iterator<Item = f64>, value: impl Fn(f64) -> (f64, f64)) -> Series {
    let point = |x| {
        let (mean, sd) = value(x);
        Point { x, mean, sd }
    };
    Series { name: name.to_owned(), points: xs.map(point).collect() }
}

/// Something that looks like noise and is the same every time.
fn ripple(x: f64) -> f64 {
    (x * 0.013).sin() * 0.5 + (x * 0.071).sin() * 0.3 + (x * 0.337).cos() * 0.2
}

fn regret_chart(title: &str, steps: u32, factor: f64) -> Chart {
    let line = |name: &str, slope: f64, power: f64| {
        series(name, (1..=steps).map(f64::from), |t| {
            let mean = factor * slope * t.powf(power) + ripple(t) * t.sqrt() * 0.2;
            (mean.max(0.0), 0.12 * mean.max(0.0))
        })
    };
    Chart::Line(LineChart {
        title: title.to_owned(),
        x: axis("time step t"),
        y: axis("cumulative regret"),
        series: vec![
            line("clock", 2.0, 0.52),
            line("ratchet", 2.1, 0.53),
            line("truth-fedban (ε = 1)", 2.4, 0.55),
            line("no federation", 3.0, 0.62),
        ],
        note: None,
    })
}

fn regret() -> Figure {
    let caption = "Mean of 5 seeds; the band is one standard deviation. Federation lowers regret, whichever \
                   mechanism pays for it.";
    figure("regret", "Regret over time", caption, 1, vec![regret_chart("N = 25 clients, d = 5", 6250, 1.0)])
}

fn scaling() -> Figure {
    let sizes = [25.0, 100.0, 1e3, 1e4, 1e5, 1e6];
    let line = |name: &str, base: f64, power: f64| {
        series(name, sizes.into_iter(), |n| {
            let mean = base * f64::powf(n, power);
            (mean, mean * 0.2)
        })
    };
    let chart = LineChart {
        title: "Time for one round, payments included".to_owned(),
        x: log_axis("clients N"),
        y: log_axis("time (s)"),
        series: vec![
            line("clock", 2e-6, 1.02),
            line("ratchet", 4e-6, 1.1),
            line("truth-fedban (ε = 1)", 3e-7, 1.7),
            line("vanilla greedy", 6e-8, 1.95),
        ],
        note: Some("2 cores, d = 5, mean and standard deviation of 10 rounds.".to_owned()),
    };
    figure("scaling", "Time per round", "Error bars are one standard deviation.", 1, vec![Chart::Line(chart)])
}

fn bars(entries: &[(&str, f64, f64, &str)]) -> Vec<Bar> {
    let bar = |(name, height, sd, label): &(&str, f64, f64, &str)| Bar {
        name: (*name).to_owned(),
        height: *height,
        sd: *sd,
        label: (!label.is_empty()).then(|| (*label).to_owned()),
    };
    entries.iter().map(bar).collect()
}

fn group(name: &str, entries: &[(&str, f64, f64, &str)]) -> BarGroup {
    BarGroup { name: name.to_owned(), bars: bars(entries) }
}

fn normalised_chart() -> Chart {
    let groups = vec![
        group(
            "regret",
            &[
                ("truth-fedban", 1.0, 0.06, "181"),
                ("vanilla greedy", 1.02, 0.05, "185"),
                ("inc-feducb", 0.97, 0.07, "176"),
                ("clock", 0.99, 0.05, "179"),
                ("ratchet", 1.0, 0.04, "181"),
            ],
        ),
        group(
            "communication",
            &[
                ("truth-fedban", 1.0, 0.02, "31.2k"),
                ("vanilla greedy", 0.82, 0.02, "25.6k"),
                ("inc-feducb", 0.71, 0.05, "22.2k"),
                ("clock", 0.76, 0.02, "23.7k"),
                ("ratchet", 0.98, 0.02, "30.6k"),
            ],
        ),
        group(
            "incentive cost",
            &[
                ("truth-fedban", 1.0, 0.09, "41.5k"),
                ("vanilla greedy", 0.62, 0.08, "25.7k"),
                ("inc-feducb", 0.33, 0.04, "13.7k"),
                ("clock", 0.58, 0.05, "24.1k"),
                ("ratchet", 0.94, 0.09, "39.0k"),
            ],
        ),
        group(
            "social cost",
            &[
                ("truth-fedban", 1.0, 0.05, "22.0k"),
                ("vanilla greedy", 0.74, 0.03, "16.3k"),
                ("inc-feducb", 0.79, 0.04, "17.4k"),
                ("clock", 0.72, 0.03, "15.8k"),
                ("ratchet", 0.99, 0.05, "21.8k"),
            ],
        ),
    ];
    Chart::Bar(BarChart {
        title: String::new(),
        y: axis("relative to truth-fedban"),
        groups,
        note: Some("Numbers on the bars are the values themselves. inc-feducb is reconstructed.".to_owned()),
    })
}

fn normalised() -> Figure {
    let caption = "Each quantity divided by that of truth-fedban; mean and standard deviation of 5 seeds.";
    figure("normalised", "Mechanisms compared", caption, 1, vec![normalised_chart()])
}

fn utility_chart() -> Chart {
    let entry = |under: f64, truth: f64, over: f64| {
        let label = |value: f64| format!("{value:+.1}").replace('-', "−");
        let bar = |name: &str, height: f64| Bar {
            name: name.to_owned(),
            height,
            sd: height.abs() * 0.15,
            label: Some(label(height)),
        };
        vec![bar("asks half", under), bar("asks its cost", truth), bar("asks double", over)]
    };
    let groups = [("truth-fedban", -12.4, 31.0, 44.9), ("ratchet", -8.1, 29.5, 20.3), ("clock", -15.0, 33.2, 18.7)];
    let groups = groups
        .iter()
        .map(|(name, under, truth, over)| BarGroup { name: (*name).to_owned(), bars: entry(*under, *truth, *over) });
    Chart::Bar(BarChart {
        title: "Utility of one client, all others truthful".to_owned(),
        y: axis("utility (units)"),
        groups: groups.collect(),
        note: None,
    })
}

fn utility() -> Figure {
    let caption = "Overstating pays only under truth-fedban: its ask moves the grid of budgets.";
    figure("utility", "What a lie earns", caption, 1, vec![utility_chart()])
}

fn sweep() -> Figure {
    let betas = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
    let chart = |title: &str, y: Axis, value: fn(f64, f64) -> f64| {
        let line = |name: &str, mechanism: f64| {
            series(name, betas.into_iter(), |beta| {
                let mean = value(beta, mechanism);
                (mean, mean.abs() * 0.07)
            })
        };
        Chart::Line(LineChart {
            title: title.to_owned(),
            x: axis("coverage β"),
            y,
            series: vec![line("truth-fedban", 1.3), line("vanilla greedy", 1.0), line("clock", 0.92)],
            note: None,
        })
    };
    let charts = vec![
        chart("Regret", axis("cumulative regret"), |beta, m| 260.0 - 90.0 * beta * m),
        chart("Communication", axis("scalars sent"), |beta, m| 52_000.0 * m * beta),
        chart("Incentive cost", log_axis("units (log scale)"), |beta, m| 40.0 * m * (6.0 * beta).exp()),
        chart("Winners", axis("clients of 25"), |beta, m| (25.0 * beta * m).min(25.0)),
    ];
    let caption = "The more coverage is demanded, the lower the regret and the higher all costs.";
    figure("sweep", "Coverage swept", caption, 2, charts)
}

fn mixed() -> Figure {
    let truthful = |name: &str, rate: f64| Bar { name: name.to_owned(), height: rate, sd: 0.0, label: None };
    let names = ["truth-fedban", "truth-fedban with a fixed grid", "vanilla greedy", "clock", "ratchet"];
    let rates = [62.3, 11.8, 0.0, 0.0, 0.0];
    let rows = names.iter().zip(rates).map(|(name, rate)| BarGroup {
        name: (*name).to_owned(),
        bars: vec![Bar { label: Some(format!("{rate} %")), ..truthful("", rate) }],
    });
    let broken = Chart::Bar(BarChart {
        title: "Rounds in which a lower ask loses".to_owned(),
        y: axis("share of 600 rounds (%)"),
        groups: rows.collect(),
        note: None,
    });
    let line = |name: &str, scale: f64| {
        series(name, (0..2000).map(|i| 0.5 + f64::from(i) / 1000.0), move |factor| {
            let utility = 30.0 - scale * (factor - 1.0).abs() * 22.0 + if factor > 1.6 { -4.0 } else { 0.0 };
            (utility, 3.0)
        })
    };
    let deviation = Chart::Line(LineChart {
        title: "Utility against the factor of a lie".to_owned(),
        x: axis("ask / cost"),
        y: axis("utility (units)"),
        series: vec![line("clock", 1.0), line("ratchet", 1.3)],
        note: None,
    });
    let caption = "(a) How often monotonicity fails. (b) Utility is highest at the true cost.";
    figure("mixed", "Two kinds side by side", caption, 2, vec![broken, deviation])
}

/// As many names as have a colour of their own, and one more.
fn palette() -> Figure {
    let names = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    let lines = names.iter().enumerate().map(|(index, name)| {
        series(name, (1..=6).map(|x| 10.0_f64.powi(x)), move |x| ((index + 1) as f64 * x.powf(0.3), 0.0))
    });
    let lines = Chart::Line(LineChart {
        title: "Lines".to_owned(),
        x: log_axis("budget"),
        y: axis("gain"),
        series: lines.collect(),
        note: None,
    });
    let bar = |(index, name): (usize, &&str)| Bar {
        name: (*name).to_owned(),
        height: 3.0 * 7.0_f64.powi(index as i32),
        sd: 0.0,
        label: Some(format!("{:.0}", 3.0 * 7.0_f64.powi(index as i32))),
    };
    let bars = Chart::Bar(BarChart {
        title: "Bars on a logarithmic axis".to_owned(),
        y: log_axis("messages"),
        groups: vec![BarGroup { name: "per round".to_owned(), bars: names.iter().enumerate().map(bar).collect() }],
        note: None,
    });
    figure("palette", "Nine names", "Colours start again after eight; dashes and hatches shift.", 2, vec![lines, bars])
}

fn awkward() -> Figure {
    let line = |title: &str, points: Vec<Point>| {
        Chart::Line(LineChart {
            title: title.to_owned(),
            x: axis("x"),
            y: axis("y"),
            series: vec![Series { name: "data".to_owned(), points }],
            note: None,
        })
    };
    let point = |x: f64, mean: f64| Point { x, mean, sd: 0.0 };
    let names = ["mechanism-with-a-long-name", "another-long-mechanism", "third-of-the-mechanisms", "n/a there"];
    let long = names.iter().enumerate().map(|(index, name)| BarGroup {
        name: (*name).to_owned(),
        bars: vec![Bar {
            name: "data".to_owned(),
            height: if index == 3 { f64::NAN } else { 2e6 * (index as f64 + 1.0) },
            sd: 3e5,
            label: None,
        }],
    });
    let long = Chart::Bar(BarChart {
        title: "Long names, one bar missing".to_owned(),
        y: axis("messages"),
        groups: long.collect(),
        note: None,
    });
    let gap = vec![point(0.0, 1.0), point(1.0, 3.0), point(2.0, f64::NAN), point(3.0, 2.0), point(4.0, 5.0)];
    let charts = vec![
        line("Nothing", vec![]),
        line("One point", vec![point(3.0, 4e-7)]),
        line("All equal", (0..40).map(|i| point(f64::from(i), 7.0)).collect()),
        line("A gap where a value is not a number", gap),
        line("Large numbers", (0..10).map(|i| point(f64::from(i) * 1e8, f64::from(i) * 3e9)).collect()),
        long,
    ];
    figure("awkward", "Awkward data", "What must not break a figure: <empty>, \"one\", & equal.", 3, charts)
}
