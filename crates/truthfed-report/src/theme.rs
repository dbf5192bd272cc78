//! Colours of a figure: fixed ones for export, ones that follow light and dark for a page.
//!
//! Series use the palette of Okabe and Ito, which people with colour-blindness can tell apart, without its yellow
//! (too pale on white) and with a grey. The dark variants keep the hues and raise the lightness.

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

/// A name, and the colour on white and on black.
type Colour = (&'static str, &'static str, &'static str);

const BASE: [Colour; 5] = [
    ("ink", "#1a1d21", "#e8eaed"),
    ("muted", "#555c64", "#a9b0b8"),
    ("axis", "#7a828b", "#7d858e"),
    ("grid", "#e3e6e9", "#2d3339"),
    ("ground", "#ffffff", "#14171b"),
];

const SERIES: [Colour; 8] = [
    ("series-0", "#0072b2", "#4a9fe0"),
    ("series-1", "#d55e00", "#ee7b33"),
    ("series-2", "#009e73", "#1fbd90"),
    ("series-3", "#cc79a7", "#de9bc2"),
    ("series-4", "#e69f00", "#f2b63c"),
    ("series-5", "#56b4e9", "#9ad6f7"),
    ("series-6", "#1a1d21", "#e8eaed"),
    ("series-7", "#8c8c8c", "#979ea6"),
];

/// How many series have a colour of their own.
pub(super) const SERIES_COLOURS: usize = SERIES.len();

impl Theme {
    /// The value of a `fill` or `stroke`.
    pub(super) fn paint(self, role: Role) -> String {
        let (name, light, _) = entry(role);
        match self {
            Theme::Paper => light.to_owned(),
            Theme::Page => format!("var(--fig-{name})"),
        }
    }
}

/// The declarations that a page's style sheet needs for [`Theme::Page`].
pub(super) fn declarations(dark: bool) -> String {
    let all = BASE.iter().chain(&SERIES);
    all.map(|(name, on_white, on_black)| format!("--fig-{name}:{};", if dark { on_black } else { on_white })).collect()
}

fn entry(role: Role) -> Colour {
    match role {
        Role::Ink => BASE[0],
        Role::Muted => BASE[1],
        Role::Axis => BASE[2],
        Role::Grid => BASE[3],
        Role::Ground => BASE[4],
        Role::Series(index) => SERIES[index % SERIES.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_of_a_page_is_declared_in_light_and_dark() {
        for role in [Role::Ink, Role::Muted, Role::Axis, Role::Grid, Role::Ground, Role::Series(7)] {
            let paint = Theme::Page.paint(role);
            let declared = paint.replace("var(", "").replace(')', ":#");
            assert!([false, true].iter().all(|dark| declarations(*dark).contains(&declared)), "{declared}");
        }
    }

    #[test]
    fn text_has_a_contrast_of_at_least_7_to_1_or_4_5_when_muted() {
        for dark in [false, true] {
            let pick = |role| if dark { entry(role).2 } else { entry(role).1 };
            assert!(contrast(pick(Role::Ink), pick(Role::Ground)) >= 7.0);
            assert!(contrast(pick(Role::Muted), pick(Role::Ground)) >= 4.5);
        }
    }

    #[test]
    fn series_stand_out_from_the_ground() {
        for index in 0..SERIES_COLOURS {
            let ((name, light, dark), (_, white, black)) = (entry(Role::Series(index)), entry(Role::Ground));
            assert!(contrast(light, white) >= 2.0 && contrast(dark, black) >= 4.5, "{name}");
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
