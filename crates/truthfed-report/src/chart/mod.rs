//! Figures as data, and their drawing as SVG.
//!
//! A [`Figure`] holds one or more charts; [`Figure::to_svg`] draws it, [`Figure::to_csv`] lists what is behind it,
//! [`Figure::to_seeds_csv`] every repetition.
//! Names decide looks: the same series or bar name has the same colour, dash, marker and hatch in all charts of a
//! figure, in the order in which names first appear. A [palette](Figure::with_palette) that all figures of a report share
//! keeps a colour for a name throughout; `name, detail` has the colour of `name`, and a dash and marker of its own. Promises: the same figure gives the same bytes; values that are not finite, or not positive on
//! a logarithmic axis, are left out of the drawing and never fail it.
//!
//! Not here: files ([`export`](super::export)), pages ([`page`](super::page)).

mod bar;
mod canvas;
mod csv;
mod figure;
mod finite;
mod frame;
mod legend;
mod line;
mod look;
mod number;
mod panel;
mod ruler;
mod thin;

use serde::{Deserialize, Serialize};

use self::look::Looks;
use super::Theme;

/// One repetition behind a mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    pub seed: u64,
    #[serde(with = "finite")]
    pub value: f64,
}

/// What errors are, in all charts of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Errors {
    /// Standard deviations of the repetitions.
    #[default]
    Deviations,
    /// Halves of 95 % confidence intervals of the means.
    Intervals,
}

impl Errors {
    /// Their column in a CSV file.
    pub fn column(self) -> &'static str {
        match self {
            Errors::Deviations => "sd",
            Errors::Intervals => "half_95",
        }
    }
}

/// One value of a series: a mean over repetitions and its error, which is drawn if it is a positive number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    #[serde(with = "finite")]
    pub x: f64,
    #[serde(with = "finite")]
    pub mean: f64,
    /// As the figure's [`Errors`] say.
    #[serde(with = "finite")]
    pub error: f64,
    /// What the mean is of, if it is known; see [`Figure::to_seeds_csv`].
    pub values: Vec<Value>,
}

/// One line of a chart. A long one shows errors as a band, a short one as error bars.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// The values, in the order in which the line runs through them.
    pub points: Vec<Point>,
}

/// How values become positions: equal differences, or equal ratios, are equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    Linear,
    Log,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: String,
    pub scale: Scale,
    /// What a vertical axis covers besides the data, so that several charts can be compared.
    pub covers: Option<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    /// What the legend says; bars of one name look alike. Empty: no legend entry.
    pub name: String,
    /// The value; may be negative.
    #[serde(with = "finite")]
    pub height: f64,
    /// As the figure's [`Errors`] say; 0 for none.
    #[serde(with = "finite")]
    pub error: f64,
    /// Text at the end of the bar, such as the value itself when heights are normalised.
    pub label: Option<String>,
    /// What the height is the mean of, if it is known; see [`Figure::to_seeds_csv`].
    pub values: Vec<Value>,
}

/// Bars that stand side by side over one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BarGroup {
    /// What stands below the axis.
    pub name: String,
    pub bars: Vec<Bar>,
}

/// Lines over a numeric axis, or groups of bars.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// What the chart shows; may be empty.
    pub title: String,
    pub y: Axis,
    pub data: Data,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    Lines { x: Axis, series: Vec<Series> },
    Bars(Vec<BarGroup>),
}

/// How a name looks in all charts of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NameLook {
    pub name: String,
    /// Of the report's series colours, from 0.
    pub colour: usize,
    /// As `stroke-dasharray` of SVG has it; empty for a line without gaps.
    pub dash: &'static str,
}

/// One or more charts that are read together; several get letters: (a), (b), ...
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name of its files and its anchor: letters, digits, `-` and `_`.
    pub id: String,
    /// Short title, for the page and for screen readers; it is not drawn.
    pub title: String,
    /// What to see in it; set below the figure by the page.
    pub caption: String,
    /// The charts, row by row.
    pub charts: Vec<Chart>,
    /// How many charts stand side by side, if they have room.
    pub columns: usize,
    /// In pixels, 96 of which are an inch. Text has the same size at any width.
    pub width: f64,
    /// Names whose colours come first, whether or not they are in the figure.
    pub palette: Vec<String>,
    pub errors: Errors,
}

/// The least and the greatest width of a figure: a narrow column, and more than any page.
const WIDTHS: (f64, f64) = (160.0, 4000.0);

impl Axis {
    pub fn linear(label: &str) -> Axis {
        Axis { label: label.to_owned(), scale: Scale::Linear, covers: None }
    }

    pub fn log(label: &str) -> Axis {
        Axis { label: label.to_owned(), scale: Scale::Log, covers: None }
    }

    /// The same axis, reaching at least this far.
    #[must_use]
    pub fn covering(self, low: f64, high: f64) -> Axis {
        Axis { covers: Some((low, high)), ..self }
    }
}

impl Value {
    /// Values under consecutive seeds.
    pub fn from_seed(first: u64, values: impl IntoIterator<Item = f64>) -> Vec<Value> {
        (first..).zip(values).map(|(seed, value)| Value { seed, value }).collect()
    }
}

impl Point {
    pub fn new(x: f64, mean: f64, error: f64) -> Point {
        Point { x, mean, error, values: Vec::new() }
    }

    #[must_use]
    pub fn with_values(self, values: Vec<Value>) -> Point {
        Point { values, ..self }
    }
}

impl Bar {
    pub fn new(name: impl Into<String>, height: f64, error: f64) -> Bar {
        Bar { name: name.into(), height, error, label: None, values: Vec::new() }
    }

    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Bar {
        Bar { label: Some(label.into()), ..self }
    }

    #[must_use]
    pub fn with_values(self, values: Vec<Value>) -> Bar {
        Bar { values, ..self }
    }
}

impl Series {
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Series {
        Series { name: name.into(), points: points.into_iter().collect() }
    }
}

impl BarGroup {
    pub fn new(name: impl Into<String>, bars: impl IntoIterator<Item = Bar>) -> BarGroup {
        BarGroup { name: name.into(), bars: bars.into_iter().collect() }
    }
}

impl Chart {
    pub fn lines(title: impl Into<String>, x: Axis, y: Axis, series: impl IntoIterator<Item = Series>) -> Chart {
        Chart { title: title.into(), y, data: Data::Lines { x, series: series.into_iter().collect() } }
    }

    pub fn bars(title: impl Into<String>, y: Axis, groups: impl IntoIterator<Item = BarGroup>) -> Chart {
        Chart { title: title.into(), y, data: Data::Bars(groups.into_iter().collect()) }
    }

    fn has_lines(&self) -> bool {
        matches!(self.data, Data::Lines { .. })
    }

    /// The names that need a legend, each once, in order of appearance.
    fn names(&self) -> Vec<&str> {
        let all: Vec<&str> = match &self.data {
            Data::Lines { series, .. } => series.iter().map(|series| series.name.as_str()).collect(),
            Data::Bars(groups) => groups.iter().flat_map(|group| &group.bars).map(|bar| bar.name.as_str()).collect(),
        };
        distinct(all.into_iter().filter(|name| !name.is_empty()))
    }
}

impl Figure {
    /// A figure of charts one below the other; see [`Figure::in_columns`].
    pub fn new(id: &str, title: &str, caption: &str, charts: impl IntoIterator<Item = Chart>) -> Figure {
        let [id, title, caption] = [id, title, caption].map(str::to_owned);
        let charts = charts.into_iter().collect();
        Figure {
            id,
            title,
            caption,
            charts,
            columns: 1,
            width: PAGE_WIDTH,
            palette: Vec::new(),
            errors: Errors::default(),
        }
    }

    #[must_use]
    pub fn in_columns(self, columns: usize) -> Figure {
        Figure { columns, ..self }
    }

    /// Another width in whole pixels, 160 to 4000. A column of a paper that is 3.3 inches wide has 317.
    #[must_use]
    pub fn with_width(self, width: f64) -> Figure {
        Figure { width: width.clamp(WIDTHS.0, WIDTHS.1).round(), ..self }
    }

    #[must_use]
    pub fn with_palette(self, names: impl IntoIterator<Item = impl Into<String>>) -> Figure {
        Figure { palette: names.into_iter().map(Into::into).collect(), ..self }
    }

    #[must_use]
    pub fn with_errors(self, errors: Errors) -> Figure {
        Figure { errors, ..self }
    }

    /// The same figure for a column of a paper or a narrow screen: charts one below the other.
    #[must_use]
    pub fn for_column(&self) -> Figure {
        Figure { columns: 1, width: COLUMN_WIDTH, ..self.clone() }
    }

    /// The names of its series and bars in the order in which they appear, with the looks that its drawing gives them.
    pub fn looks(&self) -> Vec<NameLook> {
        let looks = Looks::of(self);
        let look = |name: &&str| {
            let look = looks.look(name);
            NameLook { name: (*name).to_owned(), colour: look.colour(), dash: look.dash() }
        };
        looks.names().iter().map(look).collect()
    }

    /// The figure as an SVG document of its own, on white.
    pub fn to_svg(&self) -> String {
        self.render(Theme::Paper)
    }
}

/// As wide as a page, so that text is equally large in all figures side by side.
pub const PAGE_WIDTH: f64 = 840.0;
/// 3.3 inches: a column of a paper set in two.
pub const COLUMN_WIDTH: f64 = 3.3 * 96.0;

/// Each name once, in order of appearance.
fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The letter of a chart among several: a, b, ..., z, aa, ab, ...
fn letter(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    if index < 26 { last.to_string() } else { format!("{}{last}", letter(index / 26 - 1)) }
}

#[cfg(test)]
mod tests;
