//! Figures as data, and their drawing as SVG.
//!
//! A [`Figure`] holds one or more charts; [`Figure::to_svg`] draws it, [`Figure::to_csv`] lists what is behind it.
//! Names decide looks: the same series or bar name has the same colour, dash, marker and hatch in all charts of a
//! figure, in the order in which names first appear. Listing them in one order everywhere keeps a colour for a name
//! throughout a report. Promises: the same figure gives the same bytes; values that are not finite, or not positive on
//! a logarithmic axis, are left out of the drawing and never fail it.
//!
//! Not here: files ([`export`](super::export)), pages ([`page`](super::page)).

mod bar;
mod canvas;
mod csv;
mod figure;
mod frame;
mod legend;
mod line;
mod look;
mod number;
mod panel;
mod ruler;
mod thin;

use super::Theme;

/// One value of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where on the horizontal axis.
    pub x: f64,
    /// The mean over repetitions.
    pub mean: f64,
    /// The standard deviation over repetitions; 0 when there was one.
    pub sd: f64,
}

/// One line of a chart. A long one shows `sd` as a band, a short one as error bars.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// The values, in the order in which the line runs through them.
    pub points: Vec<Point>,
}

/// How values become positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long.
    Log,
}

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: String,
    /// How values become positions.
    pub scale: Scale,
}

/// Lines over a numeric axis.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    /// What the chart shows; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// A remark below the chart.
    pub note: Option<String>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What the legend says; bars of one name look alike. Empty: no legend entry.
    pub name: String,
    /// The value; may be negative.
    pub height: f64,
    /// The standard deviation, drawn as an error bar; 0 for none.
    pub sd: f64,
    /// Text at the end of the bar, such as the value itself when heights are normalised.
    pub label: Option<String>,
}

/// Bars that stand side by side over one name.
#[derive(Debug, Clone, PartialEq)]
pub struct BarGroup {
    /// What stands below the axis.
    pub name: String,
    /// The bars, from left to right.
    pub bars: Vec<Bar>,
}

/// Groups of bars.
#[derive(Debug, Clone, PartialEq)]
pub struct BarChart {
    /// What the chart shows; may be empty.
    pub title: String,
    /// The vertical axis.
    pub y: Axis,
    /// The groups, from left to right.
    pub groups: Vec<BarGroup>,
    /// A remark below the chart.
    pub note: Option<String>,
}

/// A chart of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// Lines.
    Line(LineChart),
    /// Bars.
    Bar(BarChart),
}

/// One or more charts that are read together; several get letters: (a), (b), ...
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of its files and its anchor: letters, digits, `-` and `_`.
    pub id: String,
    /// Short title, for the page and for screen readers; it is not drawn.
    pub title: String,
    /// What to see in it; set below the figure by the page.
    pub caption: String,
    /// The charts, row by row.
    pub charts: Vec<Chart>,
    /// How many charts stand side by side; 1 to 4.
    pub columns: usize,
}

impl Figure {
    /// The figure as an SVG document of its own, on white.
    pub fn to_svg(&self) -> String {
        self.render(Theme::Paper)
    }

    /// The figure as SVG: a document of its own, or an element for a page.
    pub fn render(&self, theme: Theme) -> String {
        figure::render(self, theme)
    }

    /// All values, not thinned. Columns `chart,series,x,mean,sd` or `chart,group,bar,height,sd,label`, or both kinds'
    /// columns when the figure has both kinds of charts. What is not finite is left empty.
    pub fn to_csv(&self) -> String {
        csv::render(self)
    }
}

impl Chart {
    fn title(&self) -> &str {
        match self {
            Chart::Line(chart) => &chart.title,
            Chart::Bar(chart) => &chart.title,
        }
    }

    fn note(&self) -> Option<&str> {
        match self {
            Chart::Line(chart) => chart.note.as_deref(),
            Chart::Bar(chart) => chart.note.as_deref(),
        }
    }

    fn y(&self) -> &Axis {
        match self {
            Chart::Line(chart) => &chart.y,
            Chart::Bar(chart) => &chart.y,
        }
    }

    /// The names that need a legend, each once, in order of appearance.
    fn names(&self) -> Vec<&str> {
        let all: Vec<&str> = match self {
            Chart::Line(chart) => chart.series.iter().map(|series| series.name.as_str()).collect(),
            Chart::Bar(chart) => {
                chart.groups.iter().flat_map(|group| &group.bars).map(|bar| bar.name.as_str()).collect()
            }
        };
        let mut names = Vec::new();
        for name in all {
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// The letter of a chart among several: a, b, ..., z, aa, ab, ...
fn letter(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    if index < 26 { last.to_string() } else { format!("{}{last}", letter(index / 26 - 1)) }
}

#[cfg(test)]
mod tests;
