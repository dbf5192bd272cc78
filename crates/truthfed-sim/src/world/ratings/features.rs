//! What items look like: leading singular vectors of the matrix of likes.
//!
//! The matrix has a row for each user and a column for each item, 1 where the user liked the item and 0 elsewhere.
//! Values themselves do not enter: stars and play counts are treated alike, and a few heavy listeners decide
//! nothing. Found by subspace iteration from a random start; plain loops, each sum in one fixed order.

use rayon::prelude::*;
use truthfed::generate::Stream;

use super::Log;

/// Vectors iterated beside those that are wanted: the more, the faster these settle.
const SPARE: usize = 8;
/// Multiplications by the matrix and its transpose.
const SWEEPS: usize = 16;
/// What is left of a vector, relative to its length, when others explain it up to rounding.
const NOTHING: f64 = 1e-12;

/// Of what the features of items are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Features {
    /// The likes of all users, not centred: how much an item is liked by all comes first, and popular items are longest.
    #[default]
    Likes,
    /// The likes of every second user, who is then nobody's. Directions weigh the same, however many likes follow each, and all
    /// items are equally long: nothing says what is liked, it has to be learned.
    HeldOut,
}

impl Features {
    /// Whether the features are made from the likes of a user.
    pub(super) fn uses(self, user: usize) -> bool {
        self == Features::Likes || user.is_multiple_of(2)
    }

    /// Whether a user is left to come along.
    pub(super) fn leaves(self, user: usize) -> bool {
        self == Features::Likes || !user.is_multiple_of(2)
    }

    /// One vector for each item, one after another; the longest has length 1. For `Likes`, they are the rows of V S of the
    /// truncated singular value decomposition U S V^T: up to scale, the inner product of two items is the number of users who liked
    /// both. For `HeldOut`, they are the rows of V, each of length 1; 0 for an item that nobody liked.
    pub(super) fn of(self, log: &Log, dimension: usize, stream: &mut Stream) -> Vec<f64> {
        let matrix = Matrix::new(log, self);
        let vectors = singular_vectors(&matrix, dimension, stream);
        let mut rows = Vec::with_capacity(log.items() * dimension);
        for item in 0..log.items() {
            let weight = |value: f64| if self == Features::Likes { value } else { 1.0 };
            rows.extend(vectors.iter().map(|(value, vector)| weight(*value) * vector[item]));
        }
        let length = |row: &[f64]| dot(row, row).sqrt();
        let longest = rows.chunks_exact(dimension).map(|row| dot(row, row)).fold(0.0, f64::max).sqrt();
        for row in rows.chunks_exact_mut(dimension) {
            let scale = if self == Features::Likes { longest } else { length(row) };
            if scale > NOTHING {
                row.iter_mut().for_each(|coordinate| *coordinate /= scale);
            }
        }
        rows
    }
}

/// The matrix of likes, with only the rows that are used.
struct Matrix<'l> {
    log: &'l Log,
    users: Vec<usize>,
}

impl<'l> Matrix<'l> {
    fn new(log: &'l Log, features: Features) -> Matrix<'l> {
        Matrix { log, users: (0..log.users()).filter(|user| features.uses(*user)).collect() }
    }

    /// A vector multiplied by the matrix and then by its transpose.
    fn image(&self, vector: &[f64]) -> Vec<f64> {
        let mut image = vec![0.0; vector.len()];
        for &user in &self.users {
            let likes = self.log.likes(user);
            let sum: f64 = likes.iter().map(|&item| vector[item as usize]).sum();
            likes.iter().for_each(|&item| image[item as usize] += sum);
        }
        image
    }
}

/// The leading singular values with their right singular vectors, largest first; 0 where the rank is too low.
fn singular_vectors(matrix: &Matrix<'_>, count: usize, stream: &mut Stream) -> Vec<(f64, Vec<f64>)> {
    let items = matrix.log.items();
    let width = (count + SPARE).min(items);
    let mut basis: Vec<Vec<f64>> = (0..width).map(|_| stream.normals(items)).collect();
    for _ in 0..SWEEPS {
        basis = images(matrix, &orthonormal(basis));
    }
    let basis = orthonormal(basis);
    let images = images(matrix, &basis);
    let small = basis.iter().map(|row| images.iter().map(|column| dot(row, column)).collect()).collect();
    let mut found = eigen(small);
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.truncate(count);
    found.into_iter().map(|(square, mix)| (square.max(0.0).sqrt(), combined(&basis, &mix))).collect()
}

/// The image of each vector. Vectors are independent of one another, so that threads decide nothing.
fn images(matrix: &Matrix<'_>, basis: &[Vec<f64>]) -> Vec<Vec<f64>> {
    basis.par_iter().map(|vector| matrix.image(vector)).collect()
}

/// Gram-Schmidt, each vector twice; a vector that the ones before it explain becomes 0.
fn orthonormal(mut basis: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for next in 0..basis.len() {
        let (done, rest) = basis.split_at_mut(next);
        let vector = &mut rest[0];
        let before = dot(vector, vector).sqrt();
        for other in done.iter().chain(done.iter()) {
            let along = dot(other, vector);
            vector.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
        }
        let left = dot(vector, vector).sqrt();
        let scale = if left > NOTHING * before { 1.0 / left } else { 0.0 };
        vector.iter_mut().for_each(|x| *x *= scale);
    }
    basis
}

/// The sum of the vectors with these weights, turned so that its coordinates do not sum to less than 0.
fn combined(basis: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; basis[0].len()];
    for (vector, weight) in basis.iter().zip(weights) {
        sum.iter_mut().zip(vector).for_each(|(x, y)| *x += weight * y);
    }
    if sum.iter().sum::<f64>() < 0.0 {
        sum.iter_mut().for_each(|x| *x = -*x);
    }
    sum
}

/// Eigenvalues and eigenvectors of a symmetric matrix: Jacobi rotations until nothing is left off the diagonal.
fn eigen(mut matrix: Vec<Vec<f64>>) -> Vec<(f64, Vec<f64>)> {
    let size = matrix.len();
    let mut vectors: Vec<Vec<f64>> = (0..size).map(|i| (0..size).map(|j| f64::from(i == j)).collect()).collect();
    // Convergence is quadratic: ten rounds are plenty, and a matrix of zeros needs none.
    for _ in 0..30 {
        let mut rotated = false;
        for p in 0..size {
            for q in p + 1..size {
                rotated |= rotate(&mut matrix, &mut vectors, p, q);
            }
        }
        if !rotated {
            break;
        }
    }
    vectors.into_iter().enumerate().map(|(i, vector)| (matrix[i][i], vector)).collect()
}

/// Makes entry (p, q) zero, if it is not already so small that it does not matter. Vectors are rows.
fn rotate(matrix: &mut [Vec<f64>], vectors: &mut [Vec<f64>], p: usize, q: usize) -> bool {
    let (a, b, off) = (matrix[p][p], matrix[q][q], matrix[p][q]);
    if off.abs() <= 1e-15 * (a.abs() * b.abs()).sqrt() || off == 0.0 {
        return false;
    }
    let slope = (b - a) / (2.0 * off);
    let tangent = slope.signum() / (slope.abs() + (slope * slope + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    let turn = |x: &mut f64, y: &mut f64| (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    for row in matrix.iter_mut() {
        let (left, right) = row.split_at_mut(q);
        turn(&mut left[p], &mut right[0]);
    }
    for rows in [matrix, vectors] {
        let (upper, lower) = rows.split_at_mut(q);
        upper[p].iter_mut().zip(&mut lower[0]).for_each(|(x, y)| turn(x, y));
    }
    true
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Liked;

    fn log(text: &str) -> Log {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Log::read(file.path(), Liked::AtLeast(1.0)).unwrap()
    }

    /// Each user likes each item with that probability, and items of its own third much more.
    fn thirds(users: usize, items: usize) -> Log {
        let mut drawn = Stream::new(11, 0);
        let mut text = String::new();
        for (user, item) in (0..users).flat_map(|user| (0..items).map(move |item| (user, item))) {
            let value = drawn.chance(if user % 3 == item % 3 { 0.6 } else { 0.1 });
            text += &format!("{user},{item},{}\n", u8::from(value));
        }
        log(&text)
    }

    #[test]
    fn singular_vectors_of_blocks_are_known() {
        // Three users like a and b, one likes c: singular values sqrt(6) and 1, and nothing is left for a third.
        let log = log("1,a,1\n1,b,1\n2,a,1\n2,b,1\n3,a,1\n3,b,1\n4,c,1\n");
        let found = singular_vectors(&Matrix::new(&log, Features::Likes), 3, &mut Stream::new(1, 0));
        let half = 0.5_f64.sqrt();
        let expected = [(6_f64.sqrt(), [half, half, 0.0]), (1.0, [0.0, 0.0, 1.0]), (0.0, [0.0; 3])];
        for ((value, vector), (known, direction)) in found.iter().zip(expected) {
            assert!((value - known).abs() < 1e-12, "{value} {known}");
            if known > 0.0 {
                assert!(vector.iter().zip(direction).all(|(x, y)| (x - y).abs() < 1e-12), "{vector:?} {direction:?}");
            }
        }
    }

    #[test]
    fn singular_vectors_satisfy_their_equation() {
        let log = thirds(90, 60);
        for (features, count) in [(Features::Likes, 3), (Features::HeldOut, 3)] {
            let matrix = Matrix::new(&log, features);
            let found = singular_vectors(&matrix, count, &mut Stream::new(1, 0));
            let vectors: Vec<Vec<f64>> = found.iter().map(|(_, vector)| vector.clone()).collect();
            for ((value, vector), image) in found.iter().zip(images(&matrix, &vectors)) {
                let square = value * value;
                let error = image.iter().zip(vector).map(|(x, y)| (x - square * y).abs()).fold(0.0, f64::max);
                assert!(error < 1e-6 * square, "{features:?}, {value}: {error}");
                assert!((dot(vector, vector) - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn held_out_features_know_every_second_user_only() {
        let log = log("1,a,1\n2,b,1\n3,a,1\n4,c,1\n");
        let matrix = Matrix::new(&log, Features::HeldOut);
        assert_eq!(matrix.users, [0, 2]);
        assert_eq!(matrix.image(&[1.0, 1.0, 1.0]), [2.0, 0.0, 0.0]);
        let rows = Features::HeldOut.of(&log, 1, &mut Stream::new(1, 0));
        assert_eq!(rows[0].abs(), 1.0);
        assert_eq!(rows[1..], [0.0; 2], "nobody who is known liked these");
    }

    #[test]
    fn held_out_items_are_equally_long_and_like_items_look_alike() {
        let rows = Features::HeldOut.of(&thirds(120, 60), 3, &mut Stream::new(1, 0));
        let rows: Vec<&[f64]> = rows.chunks_exact(3).collect();
        assert!(rows.iter().all(|row| (dot(row, row) - 1.0).abs() < 1e-12));
        let mean = |same: bool| {
            let pairs = (0..60).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|(a, b)| (a % 3 == b % 3) == same);
            let products: Vec<f64> = pairs.map(|(a, b)| dot(rows[a], rows[b])).collect();
            products.iter().sum::<f64>() / products.len() as f64
        };
        assert!(mean(true) > 0.7 && mean(false) < 0.3, "{} {}", mean(true), mean(false));
    }

    #[test]
    fn the_longest_feature_has_length_1_and_like_items_look_alike() {
        let rows = Features::Likes.of(&thirds(90, 60), 3, &mut Stream::new(1, 0));
        let rows: Vec<&[f64]> = rows.chunks_exact(3).collect();
        let longest = rows.iter().map(|row| dot(row, row)).fold(0.0, f64::max);
        assert!((longest - 1.0).abs() < 1e-12, "{longest}");
        let cosine =
            |a: usize, b: usize| dot(rows[a], rows[b]) / (dot(rows[a], rows[a]) * dot(rows[b], rows[b])).sqrt();
        for item in 0..60 {
            let others = (0..60).filter(|&other| other != item);
            let nearest = others.max_by(|&a, &b| cosine(item, a).total_cmp(&cosine(item, b))).unwrap();
            assert_eq!(nearest % 3, item % 3, "{item} looks like {nearest}");
        }
    }

    #[test]
    fn nobody_likes_anything_and_features_are_0() {
        for features in [Features::Likes, Features::HeldOut] {
            assert_eq!(features.of(&log("1,a,0\n2,b,0\n3,a,0\n"), 2, &mut Stream::new(1, 0)), [0.0; 4]);
        }
    }
}
