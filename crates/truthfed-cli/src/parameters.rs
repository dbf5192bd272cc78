//! Flags for the parameters of mechanisms, made from the catalog.

use anyhow::anyhow;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use truthfed::auction::catalog;
use truthfed::auction::{Kind, MechanismSetting, Parameter, SettingError, Value};

/// The parameters that were given, in the order of the catalog.
#[derive(Debug)]
pub(crate) struct ParameterArgs(Vec<(&'static Parameter, Value)>);

impl ParameterArgs {
    /// One mechanism with the given parameters; it must have all of them.
    pub(crate) fn setting(&self, mechanism: &str) -> anyhow::Result<MechanismSetting> {
        let with = |setting: MechanismSetting, (parameter, value): &(&Parameter, Value)| {
            let refused = |error: SettingError| anyhow!("--{} {}", flag(error.key()), error.problem());
            setting.with(parameter.name, value.clone()).map_err(refused)
        };
        self.0.iter().try_fold(MechanismSetting::named(mechanism)?, with)
    }

    /// Every mechanism, with those of the given parameters that it has.
    pub(crate) fn all_settings(&self) -> anyhow::Result<Vec<MechanismSetting>> {
        let with = |entry: &'static catalog::Entry| {
            let own = self.0.iter().filter(|(parameter, _)| entry.parameter(parameter.name).is_some());
            ParameterArgs(own.cloned().collect()).setting(entry.name)
        };
        catalog::entries().iter().map(with).collect()
    }

    /// Refuses all parameters.
    pub(crate) fn expect_none(&self, reason: &str) -> anyhow::Result<()> {
        match self.0.first() {
            Some((parameter, _)) => Err(anyhow!("--{} cannot be used here: {reason}", flag(parameter.name))),
            None => Ok(()),
        }
    }
}

/// `first_budget` is `--first-budget`.
fn flag(name: &str) -> String {
    name.replace('_', "-")
}

impl Args for ParameterArgs {
    fn augment_args(command: Command) -> Command {
        let args = catalog::parameters().into_iter().map(|(parameter, mechanisms)| arg(parameter, &mechanisms));
        command.next_help_heading("Parameters of single mechanisms").args(args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        ParameterArgs::augment_args(command)
    }
}

fn arg(parameter: &'static Parameter, mechanisms: &[&str]) -> Arg {
    let help = format!("{}: {}", mechanisms.join(", "), parameter.help);
    let arg = Arg::new(parameter.name).long(flag(parameter.name));
    let value_name = match parameter.kind {
        Kind::Switch => return arg.help(help).action(ArgAction::SetTrue),
        Kind::Real { .. } => "X",
        Kind::Amount { .. } => "AMOUNT",
        Kind::Count { .. } => "N",
        Kind::Choice(_) => "WORD",
    };
    arg.help(format!("{help} [default: {}]", parameter.default()))
        .value_name(value_name)
        .allow_negative_numbers(true)
        .value_parser(|text: &str| parameter.read(text))
}

impl FromArgMatches for ParameterArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ParameterArgs, clap::Error> {
        let given = |parameter: &Parameter| match parameter.kind {
            Kind::Switch => matches.get_flag(parameter.name).then_some(Value::Switch(true)),
            _ => matches.get_one(parameter.name).cloned(),
        };
        let known = catalog::parameters().into_iter();
        Ok(ParameterArgs(known.filter_map(|(parameter, _)| Some((parameter, given(parameter)?))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ParameterArgs::from_arg_matches(matches)?;
        Ok(())
    }
}
