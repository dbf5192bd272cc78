//! Thinning of long lines to what a figure can show.
//!
//! Largest triangle, three buckets (Steinarsson 2013): of every stretch keep the point that bends the line most, so
//! that peaks survive. Stretches are equally long on the screen, so a logarithmic axis keeps its left end.

/// Indices of the points to keep, in order: all when there are at most `limit`, else the first, the last, and at most
/// one for each of `limit - 2` stretches.
pub(super) fn thin(points: &[(f64, f64)], limit: usize) -> Vec<usize> {
    let last = points.len().saturating_sub(1);
    if points.len() <= limit || limit < 3 {
        return (0..points.len()).collect();
    }
    let stretches = stretches(points, limit - 2);
    let mut kept = vec![0];
    for (index, stretch) in stretches.iter().enumerate() {
        let before = points[kept[kept.len() - 1]];
        let after = stretches.get(index + 1).map_or(points[last], |next| centre(points, next));
        kept.extend(farthest(points, stretch, before, after));
    }
    kept.push(last);
    kept
}

/// Groups the inner points by how far the line has travelled sideways; no group is empty.
fn stretches(points: &[(f64, f64)], count: usize) -> Vec<Vec<usize>> {
    let mut total = 0.0;
    let mut travelled = Vec::with_capacity(points.len());
    for pair in points.windows(2) {
        total += (pair[1].0 - pair[0].0).abs();
        travelled.push(total);
    }
    let mut groups = vec![Vec::new(); count];
    for index in 1..points.len() - 1 {
        let share = if total > 0.0 { travelled[index - 1] / total } else { index as f64 / points.len() as f64 };
        groups[((share * count as f64) as usize).min(count - 1)].push(index);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn centre(points: &[(f64, f64)], group: &[usize]) -> (f64, f64) {
    let count = group.len() as f64;
    let sum = group.iter().fold((0.0, 0.0), |sum, index| (sum.0 + points[*index].0, sum.1 + points[*index].1));
    (sum.0 / count, sum.1 / count)
}

fn farthest(points: &[(f64, f64)], group: &[usize], before: (f64, f64), after: (f64, f64)) -> Option<usize> {
    let area = |index: &usize| {
        let (x, y) = points[*index];
        ((before.0 - after.0) * (y - before.1) - (before.0 - x) * (after.1 - before.1)).abs()
    };
    group.iter().copied().max_by(|a, b| area(a).total_cmp(&area(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(count: usize) -> Vec<(f64, f64)> {
        (0..count).map(|index| (index as f64, libm::sin(index as f64 * 0.01))).collect()
    }

    #[test]
    fn short_lines_are_kept_whole() {
        assert_eq!(thin(&wave(300), 300).len(), 300);
        assert_eq!(thin(&[], 300), [] as [usize; 0]);
        assert_eq!(thin(&[(0.0, 1.0)], 300), [0]);
    }

    #[test]
    fn long_lines_keep_both_ends_their_order_and_at_most_the_limit() {
        let kept = thin(&wave(100_000), 300);
        assert!(kept.len() <= 300 && kept.len() > 250);
        assert_eq!((kept[0], kept[kept.len() - 1]), (0, 99_999));
        assert!(kept.is_sorted());
    }

    #[test]
    fn a_single_peak_survives() {
        let mut points: Vec<(f64, f64)> = (0..5000).map(|index| (f64::from(index), 0.0)).collect();
        points[3217].1 = 9.0;
        assert!(thin(&points, 300).contains(&3217));
    }

    #[test]
    fn points_that_all_lie_at_one_place_are_thinned_too() {
        assert!(thin(&vec![(1.0, 1.0); 5000], 300).len() <= 300);
    }
}
