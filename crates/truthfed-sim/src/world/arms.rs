//! The fixed set of arms of a synthetic world.

use std::path::Path;

use truthfed::generate::Stream;

use super::error::{LineProblem, WorldError, number};

/// How arms are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArmLaw {
    /// Unit length; coordinate i has variance (d - i) / d before normalising (the default).
    #[default]
    Decaying,
    /// Uniform on the unit sphere.
    Sphere,
    /// Uniform in the cube [-1, 1]^d, scaled into the unit ball.
    Cube,
}

pub fn draw_arms(law: ArmLaw, count: usize, dimension: usize, stream: &mut Stream) -> Vec<Vec<f64>> {
    let mut arm = || match law {
        ArmLaw::Decaying => stream.context(dimension),
        ArmLaw::Sphere => unit(stream.normals(dimension)),
        ArmLaw::Cube => {
            let scale = 1.0 / (dimension as f64).sqrt();
            (0..dimension).map(|_| scale * (2.0 * stream.uniform() - 1.0)).collect()
        }
    };
    (0..count).map(|_| arm()).collect()
}

/// Arms from a CSV file without header: one arm per line, its coordinates separated by commas. If any is longer than 1,
/// all are scaled so that the longest has length 1. Fails when the file cannot be read, a line does not have
/// `dimension` coordinates, or one is not a finite number.
pub fn read_arms(path: &Path, dimension: usize) -> Result<Vec<Vec<f64>>, WorldError> {
    let name = || path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| WorldError::Io { path: name(), error })?;
    let mut arms = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |problem| WorldError::Line { path: name(), line: index + 1, problem };
        let coordinates = line.split(',').map(|field| number("coordinate", field.trim()));
        let arm: Vec<f64> = coordinates.collect::<Result<_, _>>().map_err(wrong)?;
        if arm.len() != dimension {
            return Err(wrong(LineProblem::Coordinates { got: arm.len(), expected: dimension }));
        }
        arms.push(arm);
    }
    if arms.is_empty() {
        return Err(WorldError::Empty { path: name(), what: "arms" });
    }
    let longest = arms.iter().map(|arm| norm(arm)).fold(0.0, f64::max);
    if longest > 1.0 {
        arms.iter_mut().flatten().for_each(|coordinate| *coordinate /= longest);
    }
    Ok(arms)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|coordinate| coordinate * coordinate).sum::<f64>().sqrt()
}

pub(super) fn unit(x: Vec<f64>) -> Vec<f64> {
    let norm = norm(&x);
    x.into_iter().map(|coordinate| coordinate / norm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_arm_is_longer_than_one() {
        for law in [ArmLaw::Decaying, ArmLaw::Sphere, ArmLaw::Cube] {
            let arms = draw_arms(law, 200, 4, &mut Stream::new(1, 0));
            assert!(arms.iter().all(|arm| arm.len() == 4 && norm(arm) <= 1.0 + 1e-12), "{law:?}");
        }
    }

    fn check_file(text: &str, expected: Result<usize, &str>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        match (read_arms(file.path(), 2), expected) {
            (Ok(arms), Ok(count)) => assert_eq!(arms.len(), count),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (result, _) => panic!("{text}: {result:?}"),
        }
    }

    #[test]
    fn arms_come_from_a_file_and_its_faults_are_named_by_line() {
        check_file("1,0\n0,2\n\n", Ok(2));
        check_file("1,0\n0,x\n", Err("line 2: coordinate `x` is not a number"));
        check_file("1,0\n0,1,2\n", Err("line 2: 3 coordinates, expected 2"));
        check_file("1,NaN\n", Err("line 1: coordinate `NaN` is not finite"));
        check_file("1,0\n0,-1e15\n", Ok(2));
        check_file("1,0\n0,-1.1e15\n", Err("line 2: coordinate `-1.1e15` is beyond 1e15"));
        check_file("", Err("has no arms"));
        assert!(matches!(read_arms(Path::new("no/such/file.csv"), 2), Err(WorldError::Io { .. })));
    }
}
