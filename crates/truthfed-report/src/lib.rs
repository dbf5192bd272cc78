//! Figures and pages: how measurements become something a researcher can read and paste into a paper.
//!
//! [`chart`] describes figures as plain data and draws them as SVG; [`export`] makes SVG, PDF, PNG and CSV of a
//! figure; [`page`] sets figures, tables and verdicts into one HTML file that needs no network. Promises: the same
//! input gives the same bytes on every machine, whatever fonts it has; all text is escaped; no colour alone
//! carries a meaning.
//!
//! Not here: what is measured, and what it is compared with.

pub mod chart;
pub mod export;
pub mod page;

mod markup;
mod text;
mod theme;

pub use theme::Theme;
