//! A member's application: asks its agent which arm to play, plays it, and tells the reward.
//!
//! Start an agent, then `cargo run -p truthfed-node --example application -- fed/members/m1/agent.token 127.0.0.1:7500 3 200`: the
//! agent's token, its address, the dimension of the federation's contexts, and how many steps. The world it plays in is made up: the reward is the context's first
//! coordinate.

#![allow(clippy::print_stdout)] // an example has something to show

use truthfed::generate::Stream;
use truthfed_node::agent::Token;
use truthfed_node::client::Application;

/// Arms to choose from at each step.
const ARMS: usize = 10;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default: &str| arguments.next().unwrap_or_else(|| default.to_owned());
    let token = Token::read(argument("agent.token").as_ref())?;
    let (address, dimension, steps) = (argument("127.0.0.1:7500"), argument("5").parse()?, argument("200").parse()?);
    let agent = Application::connect(address.parse()?, Some(&token)).await?;
    let mut world = Stream::new(u64::from(std::process::id()), 0);
    let mut total = 0.0;
    for _ in 0..steps {
        let arms: Vec<Vec<f64>> = (0..ARMS).map(|_| world.context(dimension)).collect();
        let choice = agent.choose(&arms).await?;
        let reward = arms[choice.index][0];
        agent.learn(choice.decision, reward).await?;
        total += reward;
    }
    let status = agent.status().await?;
    let mean = total / f64::from(steps);
    println!("{steps} steps, {mean:.3} on average (1 is the most); earned so far: {}", status.earned);
    Ok(())
}
