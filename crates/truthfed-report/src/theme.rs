//! Colours of a figure: fixed ones for export, ones that follow light and dark for a page.
//!
//! Series use the palette of Okabe and Ito, which people with colour-blindness can tell apart, without its yellow
//! (too pale on white) and with a grey. The dark variants keep the hues and raise the lightness.

use std::fmt::Write;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// A file of its own, on white: for papers and slides.
    Paper,
    /// Part of a [`Page`](super::page::Page), whose style sheet sets the colours.
    Page,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Text that matters.
    Ink,
    /// Tick labels and notes.
    Muted,
    Axis,
    Grid,
    /// What lies behind the figure.
    Ground,
    /// The series of that number; beyond the last colour they start again.
    Series(usize),
}

struct Colour {
    name: &'static str,
    light: &'static str,
    dark: &'static str,
}

const fn colour(name: &'static str, light: &'static str, dark: &'static str) -> Colour {
    Colour { name, light, dark }
}

const BASE: [Colour; 5] = [
    colour("ink", "#1a1d21", "#e8eaed"),
    colour("muted", "#555c64", "#a9b0b8"),
    colour("axis", "#7a828b", "#7d858e"),
    colour("grid", "#e3e6e9", "#2d3339"),
    colour("ground", "#ffffff", "#14171b"),
];

const SERIES: [Colour; 8] = [
    colour("series-0", "#0072b2", "#4a9fe0"),
    colour("series-1", "#d55e00", "#ee7b33"),
    colour("series-2", "#009e73", "#1fbd90"),
    colour("series-3", "#cc79a7", "#de9bc2"),
    colour("series-4", "#e69f00", "#f2b63c"),
    colour("series-5", "#56b4e9", "#9ad6f7"),
    colour("series-6", "#1a1d21", "#e8eaed"),
    colour("series-7", "#8c8c8c", "#979ea6"),
];

/// How many series have a colour of their own.
pub(super) const SERIES_COLOURS: usize = SERIES.len();

impl Theme {
    /// The value of a `fill` or `stroke`.
    pub(super) fn paint(self, role: Role) -> String {
        let colour = entry(role);
        match self {
            Theme::Paper => colour.light.to_owned(),
            Theme::Page => format!("var(--fig-{})", colour.name),
        }
    }
}

/// The declarations that a page's style sheet needs for [`Theme::Page`].
pub(super) fn declarations(dark: bool) -> String {
    let mut css = String::new();
    for colour in BASE.iter().chain(&SERIES) {
        let value = if dark { colour.dark } else { colour.light };
        let _ = write!(css, "--fig-{}:{value};", colour.name);
    }
    css
}

fn entry(role: Role) -> &'static Colour {
    match role {
        Role::Ink => &BASE[0],
        Role::Muted => &BASE[1],
        Role::Axis => &BASE[2],
        Role::Grid => &BASE[3],
        Role::Ground => &BASE[4],
        Role::Series(index) => &SERIES[index % SERIES.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_of_a_page_is_declared_in_light_and_dark() {
        for role in [Role::Ink, Role::Muted, Role::Axis, Role::Grid, Role::Ground, Role::Series(7)] {
            let paint = Theme::Page.paint(role);
            let property = paint.trim_start_matches("var(").trim_end_matches(')');
            assert!(declarations(false).contains(&format!("{property}:#")));
            assert!(declarations(true).contains(&format!("{property}:#")));
        }
    }

    #[test]
    fn text_has_a_contrast_of_at_least_7_to_1_or_4_5_when_muted() {
        for dark in [false, true] {
            let pick = |role| if dark { entry(role).dark } else { entry(role).light };
            assert!(contrast(pick(Role::Ink), pick(Role::Ground)) >= 7.0);
            assert!(contrast(pick(Role::Muted), pick(Role::Ground)) >= 4.5);
        }
    }

    #[test]
    fn series_stand_out_from_the_ground() {
        for index in 0..SERIES_COLOURS {
            let series = entry(Role::Series(index));
            assert!(contrast(series.light, entry(Role::Ground).light) >= 2.0, "{}", series.name);
            assert!(contrast(series.dark, entry(Role::Ground).dark) >= 4.5, "{}", series.name);
        }
    }

    /// Contrast as the Web Content Accessibility Guidelines define it.
    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }
}
