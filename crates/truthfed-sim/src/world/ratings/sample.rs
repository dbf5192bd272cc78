//! A small log of ratings in the layout of MovieLens, made up from a seed: to try things out without a download.
//!
//! Users share a taste for what films are like, and each has a little of its own beside it. They see more of what they like, and some
//! films are seen more often than others whatever they are like. No line is anybody's.

use truthfed::generate::Stream;

use super::super::arms::unit;

const USERS: usize = 600;
const FILMS: usize = 240;
/// Aspects that a film can have, more or less of each.
const ASPECTS: usize = 8;

/// The text of `ratings.csv`: user, film, stars from 0.5 to 5, and the second of the rating.
pub fn sample_ratings(seed: u64) -> String {
    let mut drawn = Stream::new(seed, 0);
    let films: Vec<Vec<f64>> = (0..FILMS).map(|_| drawn.normals(ASPECTS)).collect();
    let known: Vec<f64> = (0..FILMS).map(|_| 0.5 * drawn.normal() - 2.0).collect();
    let shared = unit(drawn.normals(ASPECTS));
    let mut text = String::from("userId,movieId,rating,timestamp\n");
    for user in 1..=USERS {
        let own = unit(drawn.normals(ASPECTS));
        let mut second = 1_000_000_000 + drawn.between(0, 400_000_000);
        for (film, (aspects, known)) in films.iter().zip(&known).enumerate() {
            let taste = shared.iter().zip(&own).map(|(shared, own)| 1.5 * shared + 0.3 * own);
            let liking: f64 = aspects.iter().zip(taste).map(|(aspect, taste)| aspect * taste).sum();
            let stars = 3.2 + 0.6 * liking + 0.4 * drawn.normal();
            if drawn.chance(1.0 / (1.0 + libm::exp(-(known + 1.2 * liking)))) {
                second += drawn.between(5, 90);
                let half_stars = (2.0 * stars).round().clamp(1.0, 10.0);
                text += &format!("{user},{},{:.1},{second}\n", film + 1, half_stars / 2.0);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_layout_of_movielens_and_is_the_same_each_time() {
        let text = sample_ratings(1);
        assert!(text.starts_with("userId,movieId,rating,timestamp\n1,"));
        assert_eq!(text, sample_ratings(1));
        assert_ne!(text, sample_ratings(2));
        let stars: Vec<f64> =
            text.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
        assert!((20_000..60_000).contains(&stars.len()), "{}", stars.len());
        assert!(stars.iter().all(|stars| (0.5..=5.0).contains(stars) && (2.0 * stars).fract() == 0.0));
    }
}
