//! `Round`.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use truthfed::Amount;
use truthfed::auction::{CertificateError, MechanismSetting, catalog};
use truthfed::auction::{
    ClientId, Coverage, Information, Offer, Round, RoundDocument, RoundError, RoundSpec, Seat, certify,
};
use truthfed::generate;

use crate::convert::{amount, amounts, client, floats, gram, micros, slice, square, units, write_whole};
use crate::error;
use crate::mechanism::Chosen;
use crate::outcome::PyOutcome;
use crate::work::{Job, quick};

const ERROR: &str = "RoundError";

/// A round of offers: each client sells the Gram matrix of its data at an ask, beside what is settled already (`base`).
///
/// `coverage` is the part of the determinant that the winners must reach, `reserve` the highest ask that is admitted (10,000 if it is
/// left out), `purse` what all payments together may come to. Money is in units: ints, strings and Decimals are taken exactly, floats
/// to the nearest millionth. Clients are in the order of their names.
///
/// >>> import truthfed as tf
/// >>> round = tf.Round(base=[[0.0]], grams=[[[4.0]], [[4.0]], [[4.0]]], asks=[3, 5, 9], clients=["ann", "bob", "cyd"])
/// >>> outcome = round.solve("clock")
/// >>> outcome.to_dict()
/// {'ann': 9.0, 'bob': 9.0}
/// >>> outcome.certify()
#[pyclass(frozen, module = "truthfed", name = "Round")]
pub(crate) struct PyRound {
    pub(crate) round: Arc<Round>,
}

impl PyRound {
    pub(crate) fn of(round: Round) -> PyRound {
        PyRound { round: Arc::new(round) }
    }

    /// A round from its parts; `names` are the clients in the caller's order.
    fn checked(py: Python<'_>, spec: RoundSpec, names: Vec<ClientId>) -> PyResult<PyRound> {
        let made = Job::new().run(py, move |_| Round::new(spec))?;
        made.map(PyRound::of).map_err(|wrong| {
            let place = |client: &ClientId| names.iter().rposition(|name| name == client).unwrap_or(0);
            match &wrong {
                RoundError::WrongDimension { client, .. } | RoundError::NotPositive { client } => {
                    error::bad_field(ERROR, &wrong, &format!("grams[{}]", place(client)))
                }
                RoundError::DuplicateClient(client) => {
                    error::bad_field(ERROR, &wrong, &format!("clients[{}]", place(client)))
                }
                _ => error::bad(ERROR, &wrong),
            }
        })
    }

    pub(crate) fn outcome(
        slf: &Bound<'_, PyRound>,
        py: Python<'_>,
        job: &Arc<Job>,
        chosen: &Chosen,
    ) -> PyResult<PyOutcome> {
        let (round, runs) = (Arc::clone(&slf.get().round), chosen.mechanism());
        let outcome = job.run(py, move |_| runs.run(&round))?;
        let outcome = outcome.map_err(|refusal| error::refused(&refusal.to_string()))?;
        Ok(PyOutcome { outcome, chosen: chosen.apart(py), round: Arc::clone(&slf.get().round) })
    }

    /// Seats from a list of indices or names.
    fn seats(&self, clients: &Bound<'_, PyAny>) -> PyResult<Vec<Seat>> {
        seats(&self.round, "clients", clients)
    }
}

/// The seats of clients that are given by index or name, ascending and each once.
pub(crate) fn seats(round: &Round, field: &str, clients: &Bound<'_, PyAny>) -> PyResult<Vec<Seat>> {
    let items = clients.try_iter()?.enumerate();
    let mut seats = items
        .map(|(place, item)| seat(round, &format!("{field}[{place}]"), &item?))
        .collect::<PyResult<Vec<Seat>>>()?;
    seats.sort();
    if let Some(pair) = seats.windows(2).find(|pair| pair[0] == pair[1]) {
        let (name, bound) = (round.client(pair[0]), "clients that are each named once");
        return Err(error::input(ERROR, &format!("{field} has {name} twice: it must be {bound}"), field, bound));
    }
    Ok(seats)
}

/// The seat of a client that is given by index or name.
pub(crate) fn seat(round: &Round, field: &str, item: &Bound<'_, PyAny>) -> PyResult<Seat> {
    let found = match item.cast::<PyString>() {
        Ok(name) => name.to_str()?.parse().ok().and_then(|name| round.seat_of(&name)),
        Err(_) => item.extract::<usize>().ok().filter(|index| *index < round.admitted()).map(Seat),
    };
    found.ok_or_else(|| {
        let bound = format!("the name of an admitted client, or an index below {}", round.admitted());
        let shown = item.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string());
        error::input(ERROR, &format!("{field} is {shown}: it must be {bound}"), field, &bound)
    })
}

fn coverage(ratio: f64) -> PyResult<Coverage> {
    Coverage::ratio(ratio).map_err(|wrong| error::bad(ERROR, &wrong))
}

#[pymethods]
impl PyRound {
    #[new]
    #[pyo3(signature = (base, grams, asks, clients=None, coverage=0.5, reserve=None, purse=None, ridge=0.1))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        base: &Bound<'_, PyAny>,
        grams: &Bound<'_, PyAny>,
        asks: &Bound<'_, PyAny>,
        clients: Option<&Bound<'_, PyAny>>,
        coverage: f64,
        reserve: Option<&Bound<'_, PyAny>>,
        purse: Option<&Bound<'_, PyAny>>,
        ridge: f64,
    ) -> PyResult<PyRound> {
        let (base, grams) = (floats(ERROR, "base", base, 2)?, floats(ERROR, "grams", grams, 3)?);
        let asks = amounts(ERROR, "asks", asks)?;
        let (d, n) = (base.shape()[0], asks.len());
        let wrong = |field: &str, got: String, bound: String| {
            Err(error::input(ERROR, &format!("{field} {got}: it must be {bound}"), field, &bound))
        };
        let by = |shape: &[usize]| shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(" by ");
        if base.shape()[1] != d || d == 0 {
            return wrong("base", format!("is {}", by(base.shape())), "a square matrix".to_owned());
        }
        if grams.shape() != [n, d, d] {
            return wrong(
                "grams",
                format!("is {}", by(grams.shape())),
                format!("{n} by {d} by {d}, a matrix for each ask"),
            );
        }
        let names = names(clients, n)?;
        if names.len() != n {
            return wrong("clients", format!("has {} names", names.len()), format!("{n} names, one for each ask"));
        }
        let matrices = slice(&grams)?.chunks_exact(d * d).enumerate();
        let matrices = matrices.map(|(place, entries)| gram(ERROR, &format!("grams[{place}]"), d, entries));
        let offers = names.iter().zip(asks).zip(matrices);
        let offers = offers.map(|((client, ask), gram)| Ok(Offer { client: client.clone(), ask, gram: gram? }));
        let usual = RoundSpec::new(gram(ERROR, "base", d, slice(&base)?)?, offers.collect::<PyResult<Vec<_>>>()?);
        let spec = RoundSpec {
            lambda: ridge,
            coverage: self::coverage(coverage)?,
            reserve: reserve.map_or(Ok(usual.reserve), |reserve| amount(ERROR, "reserve", reserve))?,
            purse: purse.map(|purse| amount(ERROR, "purse", purse)).transpose()?,
            ..usual
        };
        PyRound::checked(py, spec, names)
    }

    /// A random round of that many clients, like one of a real federation.
    #[staticmethod]
    #[pyo3(signature = (clients, dim, seed=0))]
    fn generate(py: Python<'_>, clients: i64, dim: i64, seed: u64) -> PyResult<PyRound> {
        let [clients, dim] = [clients, dim].map(|size| usize::try_from(size).unwrap_or(0));
        let spec = Job::new().run(py, move |_| generate::federation_spec(clients, dim, seed))?;
        PyRound::checked(py, spec.map_err(|wrong| error::bad(ERROR, &wrong))?, Vec::new())
    }

    /// A small, deliberately odd round, to find mistakes.
    #[staticmethod]
    fn varied(py: Python<'_>, seed: u64) -> PyResult<PyRound> {
        Ok(PyRound::of(quick(py, || generate::varied(seed))?))
    }

    /// The round of a document of schema truthfed.round/1.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: String) -> PyResult<PyRound> {
        let read = Job::new().run(py, move |_| RoundDocument::read_round(&text))?;
        read.map(PyRound::of).map_err(|wrong| error::bad(ERROR, &wrong))
    }

    /// The round of a file of schema truthfed.round/1.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<PyRound> {
        PyRound::from_json(py, quick(py, move || std::fs::read_to_string(path))??)
    }

    /// Writes the round to a file that the command `truthfed auction` reads.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let text = self.to_json(py)? + "\n";
        Ok(quick(py, move || write_whole(&path, &text))??)
    }

    /// The round as a document of schema truthfed.round/1.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        quick(py, || RoundDocument::of(&self.round.spec()).to_string())
    }

    /// The outcome under a mechanism: a name of the catalog with parameters, or one of your own. By default `clock`.
    #[pyo3(signature = (mechanism=None, **parameters))]
    fn solve(
        slf: &Bound<'_, PyRound>,
        mechanism: Option<&Bound<'_, PyAny>>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyOutcome> {
        let job = Job::new();
        let chosen = Chosen::of(&job, mechanism, parameters)?;
        PyRound::outcome(slf, slf.py(), &job, &chosen)
    }

    /// Fails unless every payment is the winner's critical value.
    pub(crate) fn certify(&self, py: Python<'_>, outcome: &Bound<'_, PyOutcome>) -> PyResult<()> {
        let job = Job::new();
        let mechanism = outcome.get().chosen.within(&job, py)?.mechanism();
        let (round, outcome) = (Arc::clone(&self.round), outcome.get().outcome.clone());
        if outcome.winners().iter().any(|winner| round.seat_of(&winner.client) != Some(winner.seat)) {
            let bound = "the outcome of this round";
            return Err(error::input(
                ERROR,
                &format!("outcome has other clients: it must be {bound}"),
                "outcome",
                bound,
            ));
        }
        match job.run(py, move |_| certify(&round, mechanism.as_ref(), &outcome))? {
            Ok(()) => Ok(()),
            Err(wrong @ CertificateError::Refused(_)) => Err(error::refused(&wrong.to_string())),
            Err(CertificateError::NotCritical(violations)) => {
                let words: Vec<String> = violations.iter().map(ToString::to_string).collect();
                let message = CertificateError::NotCritical(violations).to_string();
                Err(error::not_certified(&message, words))
            }
        }
    }

    /// Every mechanism of the catalog, or these, on this round: the outcome, or why there is none.
    fn outcomes<'py>(
        slf: &Bound<'py, PyRound>,
        mechanisms: Option<Vec<Bound<'py, PyAny>>>,
    ) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let py = slf.py();
        let mechanisms = match mechanisms {
            Some(mechanisms) => mechanisms,
            None => catalog::names().iter().map(|name| PyString::new(py, name).into_any()).collect(),
        };
        let outcome = |mechanism: &Bound<'py, PyAny>| -> PyResult<(String, Bound<'py, PyAny>)> {
            let job = Job::new();
            let chosen = Chosen::of(&job, Some(mechanism), None)?;
            let result = match PyRound::outcome(slf, py, &job, &chosen) {
                Ok(outcome) => Bound::new(py, outcome)?.into_any(),
                Err(refused) if error::is_refusal(py, &refused) => refused.value(py).str()?.into_any(),
                Err(failure) => return Err(failure),
            };
            Ok((chosen.name().to_owned(), result))
        };
        mechanisms.iter().map(outcome).collect()
    }

    /// The table of `truthfed.comparing`.
    #[pyo3(signature = (mechanisms=None, frames=None))]
    fn compare<'py>(
        slf: &Bound<'py, PyRound>,
        mechanisms: Option<Bound<'py, PyAny>>,
        frames: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("truthfed.comparing")?.call_method1("compare", (slf, mechanisms, frames))
    }

    /// The same round in which a client, by name or index, asks something else.
    fn with_ask(&self, py: Python<'_>, who: &Bound<'_, PyAny>, ask: &Bound<'_, PyAny>) -> PyResult<PyRound> {
        let ask = amount(ERROR, "ask", ask)?;
        let name = match seat(&self.round, "client", who) {
            Ok(seat) => self.round.client(seat).clone(),
            Err(unknown) => {
                // Those that were turned away may ask less.
                let name = client(ERROR, "client", who).map_err(|_| unknown.clone_ref(py))?;
                let offers = self.round.turned_away();
                if !offers.iter().any(|offer| offer.client == name) {
                    return Err(unknown);
                }
                name
            }
        };
        let round = Arc::clone(&self.round);
        Ok(PyRound::of(Job::new().run(py, move |_| round.with_ask(&name, ask))?))
    }

    /// The same round with another coverage.
    fn with_coverage(&self, coverage: f64) -> PyResult<PyRound> {
        Ok(PyRound::of(self.round.with_coverage(self::coverage(coverage)?)))
    }

    /// The same round with another purse, or none.
    #[pyo3(signature = (purse=None))]
    fn with_purse(&self, py: Python<'_>, purse: Option<&Bound<'_, PyAny>>) -> PyResult<PyRound> {
        let purse = purse.map(|purse| amount(ERROR, "purse", purse)).transpose()?;
        let round = Arc::clone(&self.round);
        Ok(PyRound::of(Job::new().run(py, move |_| round.with_purse(purse))?))
    }

    /// log det V of some clients, by name or index, with the ridge and what is settled, in nats.
    fn level(&self, py: Python<'_>, clients: &Bound<'_, PyAny>) -> PyResult<f64> {
        let seats = self.seats(clients)?;
        quick(py, || self.round.level(&seats).to_nats())
    }

    /// Whether some clients together reach the coverage. Exact, unlike comparing levels.
    fn covers(&self, py: Python<'_>, clients: &Bound<'_, PyAny>) -> PyResult<bool> {
        let seats = self.seats(clients)?;
        quick(py, || self.round.level(&seats) >= self.round.required(self.round.coverage()))
    }

    /// What is lost without each client while all others take part, in nats.
    #[pyo3(signature = (clients=None))]
    fn losses<'py>(&self, py: Python<'py>, clients: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let seats = clients.map_or_else(|| Ok(self.round.seats().collect()), |clients| self.seats(clients))?;
        let round = Arc::clone(&self.round);
        let losses = Job::new().run(py, move |_| round.losses(&seats))?;
        Ok(PyArray1::from_vec(py, losses.into_iter().map(Information::to_nats).collect()))
    }

    /// The level that meets the coverage, in nats.
    #[getter]
    fn required(&self) -> f64 {
        self.round.required(self.round.coverage()).to_nats()
    }

    /// The names of the admitted clients, sorted.
    #[getter]
    fn clients(&self) -> Vec<&str> {
        self.round.seats().map(|seat| self.round.client(seat).as_str()).collect()
    }

    /// Who asks more than the reserve or the purse.
    #[getter]
    fn turned_away(&self) -> Vec<&str> {
        self.round.turned_away().iter().map(|offer| offer.client.as_str()).collect()
    }

    /// The asks of the admitted clients, in units.
    #[getter]
    fn asks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        units(py, self.round.seats().map(|seat| self.round.ask(seat)))
    }

    /// The asks of the admitted clients, exactly, in millionths.
    #[getter]
    fn micros<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        micros(py, self.round.seats().map(|seat| self.round.ask(seat)))
    }

    /// The Gram matrices of the admitted clients.
    #[getter]
    fn grams<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (n, d) = (self.round.admitted(), self.round.dimension());
        let whole = quick(py, || self.round.seats().flat_map(|seat| square(d, self.round.gram(seat))).collect())?;
        PyArray1::from_vec(py, whole).reshape([n, d, d])
    }

    /// The Gram matrix of what is settled, without the ridge.
    #[getter]
    fn base<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let d = self.round.dimension();
        let whole = quick(py, || square(d, self.round.base().lower()))?;
        PyArray1::from_vec(py, whole).reshape([d, d])
    }

    /// The part of the determinant that the winners must reach.
    #[getter]
    fn coverage(&self) -> f64 {
        self.round.coverage().to_ratio()
    }

    /// The highest ask that is admitted, and the highest payment.
    #[getter]
    fn reserve(&self) -> f64 {
        self.round.reserve().to_f64()
    }

    /// What all payments together may come to, or None.
    #[getter]
    fn purse(&self) -> Option<f64> {
        self.round.purse().map(Amount::to_f64)
    }

    /// The ridge weight.
    #[getter]
    fn ridge(&self) -> f64 {
        self.round.lambda()
    }

    /// The dimension of the data.
    #[getter]
    fn dim(&self) -> usize {
        self.round.dimension()
    }

    fn __len__(&self) -> usize {
        self.round.admitted()
    }

    fn __repr__(&self) -> String {
        let (clients, away) = (self.round.admitted(), self.round.turned_away().len());
        let (d, coverage, reserve) = (self.round.dimension(), self.coverage(), self.round.reserve());
        format!("<Round of {clients} clients ({away} turned away), dim {d}, coverage {coverage:?}, reserve {reserve}>")
    }

    fn __reduce__<'py>(slf: &Bound<'py, PyRound>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().to_json(slf.py())?,)))
    }
}

/// The names as given, or numbered like those of a simulated federation.
fn names(clients: Option<&Bound<'_, PyAny>>, count: usize) -> PyResult<Vec<ClientId>> {
    match clients {
        Some(clients) => {
            let items = clients.try_iter()?.enumerate();
            items.map(|(place, item)| client(ERROR, &format!("clients[{place}]"), &item?)).collect()
        }
        None => Ok((0..count).map(|number| truthfed_sim::federation::client_id(number, count)).collect()),
    }
}

/// The mechanisms of the catalog with the values of their parameters.
#[pyfunction]
pub(crate) fn mechanisms(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |entry: &'static catalog::Entry| {
        let (row, claims) = (PyDict::new(py), entry.claims());
        row.set_item("name", entry.name)?;
        row.set_item("summary", entry.summary)?;
        row.set_item("target", entry.target)?;
        row.set_item("individually_rational", claims.individually_rational.to_string())?;
        row.set_item("truthful", claims.truthful.to_string())?;
        row.set_item("collusion_proof", claims.collusion_proof.to_string())?;
        let parameters = PyDict::new(py);
        for parameter in MechanismSetting::named(entry.name).iter().flat_map(|setting| setting.entry().parameters) {
            parameters.set_item(parameter.name, parameter.default().to_string())?;
        }
        row.set_item("parameters", parameters)?;
        Ok(row)
    };
    catalog::entries().iter().map(row).collect()
}
