// Charts in SVG. Each has its values in a table too, or in words, for whoever does not see it; a click on a round opens it, as the
// link in the table does.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { money, percent, significant } from "./format";
import type { Auction, Figure, RoundView } from "./types";

export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, []);
  return [place, width];
}

/** Multiples of 1, 2 or 5 times a power of ten that lie in a range. */
export function ticksIn(least: number, most: number, about: number): number[] {
  if (!(most > least)) return [least];
  const rough = (most - least) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough)!;
  const [first, last] = [Math.ceil(least / step - 1e-9), Math.floor(most / step + 1e-9)];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => (first + index) * step);
}

const ticks = (most: number, about: number): number[] => ticksIn(0, Math.max(0, most), about);

export const short = (value: number): string =>
  new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(value);

const LEFT = 52;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 34;

function Axes(props: {
  width: number;
  height: number;
  x: { at: (value: number) => number; ticks: number[]; name: string; write?: (value: number) => string };
  y: { at: (value: number) => number; ticks: number[]; write?: (value: number) => string };
}) {
  const { width, height, x, y } = props;
  return (
    <g class="axes">
      {y.ticks.map((tick) => (
        <g key={tick}>
          <line class="grid" x1={LEFT} x2={width - RIGHT} y1={y.at(tick)} y2={y.at(tick)} />
          <text x={LEFT - 8} y={y.at(tick)} dy="0.32em" text-anchor="end">
            {(y.write ?? short)(tick)}
          </text>
        </g>
      ))}
      <line class="axis" x1={LEFT} x2={width - RIGHT} y1={height - BOTTOM} y2={height - BOTTOM} />
      {x.ticks.map((tick) => (
        <text key={tick} x={x.at(tick)} y={height - BOTTOM + 15} text-anchor="middle">
          {(x.write ?? short)(tick)}
        </text>
      ))}
      <text class="name" x={width - RIGHT} y={height - 3} text-anchor="end">
        {x.name}
      </text>
    </g>
  );
}

function Frame(props: { title: string; unit: string; about: string; children: ComponentChildren; keys?: ComponentChildren }) {
  return (
    <figure class="chart">
      <figcaption>
        <strong>{props.title}</strong> <span class="muted">{props.unit}</span>
        {props.keys && <span class="keys">{props.keys}</span>}
      </figcaption>
      {props.children}
      <p class="visually-hidden">{props.about}</p>
    </figure>
  );
}

const Key = (props: { mark: string; children: ComponentChildren }) => (
  <span class="key">
    <svg width="18" height="10" aria-hidden="true">
      {props.mark === "line" && <line class="target" x1="0" x2="18" y1="5" y2="5" />}
      {props.mark === "won" && <circle class="won" cx="9" cy="5" r="4" />}
      {props.mark === "lost" && <circle class="lost" cx="9" cy="5" r="4" />}
      {props.mark === "paid" && <line class="paid" x1="0" x2="18" y1="5" y2="5" />}
      {props.mark === "dot" && <circle class="dot" cx="9" cy="5" r="3.5" />}
    </svg>
    {props.children}
  </span>
);

/** The rounds' numbers that fit below an axis. */
function roundTicks(rounds: unknown[], width: number): number[] {
  const every = Math.max(1, Math.ceil((rounds.length * 44) / Math.max(1, width - LEFT - RIGHT)));
  return rounds.map((_, index) => index).filter((index) => (rounds.length - 1 - index) % every === 0);
}

export function CoverageChart({ rounds }: { rounds: Figure[] }) {
  const [place, width] = useWidth();
  const height = 190;
  const shown = rounds.filter((round) => round.coverage !== null && round.target !== null);
  const x = (index: number) => LEFT + ((index + 0.5) * (width - LEFT - RIGHT)) / Math.max(1, shown.length);
  const y = (value: number) => TOP + (1 - value) * (height - TOP - BOTTOM);
  const met = shown.filter((round) => round.coverage! >= round.target! - 1e-9).length;
  const about = `${met} of the last ${shown.length} auctions met the target.`;
  const step = (shown.length ? x(1) - x(0) : 0) / 2;
  const target = shown.map((round, index) => `${index ? "L" : "M"}${x(index) - step},${y(round.target!)}H${x(index) + step}`);
  return (
    <Frame
      title="Coverage"
      unit="of what all offers would give"
      about={about}
      keys={
        <>
          <Key mark="dot">reached</Key> <Key mark="line">target</Key>
        </>
      }
    >
      <div ref={place} class="drawing">
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={`Coverage of the last rounds. ${about}`}>
            <Axes
              width={width}
              height={height}
              x={{ at: x, ticks: roundTicks(shown, width), name: "round", write: (index) => String(shown[index]!.round) }}
              y={{ at: y, ticks: [0, 0.25, 0.5, 0.75, 1], write: (value) => `${100 * value} %` }}
            />
            {target.length > 0 && <path class="target" d={target.join("")} />}
            {shown.map((round, index) => (
              <g key={round.round} class="open" onClick={() => (location.hash = `#/rounds/${round.round}`)}>
                <circle class="dot" cx={x(index)} cy={y(round.coverage!)} r={shown.length > 40 ? 3 : 4}>
                  <title>{`Round ${round.round}: ${percent(round.coverage!)}, target ${percent(round.target!)}`}</title>
                </circle>
              </g>
            ))}
          </svg>
        )}
      </div>
    </Frame>
  );
}

export function PaidChart({ rounds }: { rounds: Pick<Figure, "round" | "paid">[] }) {
  const [place, width] = useWidth();
  const height = 190;
  const most = Math.max(1, ...rounds.map((round) => Number(round.paid)));
  const x = (index: number) => LEFT + ((index + 0.5) * (width - LEFT - RIGHT)) / Math.max(1, rounds.length);
  const y = (value: number) => TOP + (1 - value / most) * (height - TOP - BOTTOM);
  const thick = Math.max(1, Math.min(28, (0.7 * (width - LEFT - RIGHT)) / Math.max(1, rounds.length)));
  const last = rounds[rounds.length - 1];
  const about = last ? `Round ${last.round} paid ${money(last.paid)} units.` : "No round yet.";
  return (
    <Frame title="Paid per round" unit="units" about={about}>
      <div ref={place} class="drawing">
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={`Payments of the last rounds. ${about}`}>
            <Axes
              width={width}
              height={height}
              x={{ at: x, ticks: roundTicks(rounds, width), name: "round", write: (index) => String(rounds[index]!.round) }}
              y={{ at: y, ticks: ticks(most, 4) }}
            />
            {rounds.map((round, index) => (
              <g key={round.round} class="open" onClick={() => (location.hash = `#/rounds/${round.round}`)}>
                <rect
                  class="bar"
                  x={x(index) - thick / 2}
                  width={thick}
                  y={y(Number(round.paid))}
                  height={Math.max(0, height - BOTTOM - y(Number(round.paid)))}
                >
                  <title>{`Round ${round.round}: ${money(round.paid)} units`}</title>
                </rect>
              </g>
            ))}
          </svg>
        )}
      </div>
    </Frame>
  );
}

const PHASE_ROW = 36;

/** The phases of a round that ended on a time axis, each with the time that it was allowed. */
export function PhasesChart({ round }: { round: Pick<RoundView, "opened_ms" | "sealed_ms" | "ended_ms" | "limits"> }) {
  const [place, width] = useWidth();
  const { opened_ms: opened, sealed_ms: sealed, ended_ms: ended, limits } = round;
  if (ended === null) return null;
  const phases = [
    { name: "Offers", from: opened, to: sealed ?? ended, most: limits.offers_ms },
    ...(sealed === null ? [] : [{ name: "Auction and deliveries", from: sealed, to: ended, most: limits.deliveries_ms }]),
  ];
  const height = TOP + phases.length * PHASE_ROW + BOTTOM;
  const whole = Math.max(1, ended - opened);
  const x = (ms: number) => 12 + ((ms - opened) / (1.02 * whole)) * (width - 12 - RIGHT);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(3)} s`;
  const about = phases.map(({ name, from, to, most }) => `${name}: ${seconds(to - from)} of ${seconds(most)}.`).join(" ");
  return (
    <Frame title="Phases" unit="seconds since it was opened" about={about}>
      <div ref={place} class="drawing">
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={`Phases of the round. ${about}`}>
            {phases.map(({ name, from, to, most }, row) => {
              const top = TOP + row * PHASE_ROW;
              const label = `${name}, ${seconds(to - from)}`;
              // One that would leave the drawing ends where its bar does. As wide as letters of this size are in a wide font.
              const isLate = x(from) + 7.5 * label.length > width;
              return (
                <g key={name}>
                  <text class="note" x={isLate ? x(to) : x(from)} y={top + 9} text-anchor={isLate ? "end" : "start"}>{label}</text>
                  <rect class={row === 0 ? "phase" : "phase later"} x={x(from)} width={Math.max(2, x(to) - x(from))} y={top + 15} height="12" rx="2">
                    <title>{`${name}: ${seconds(to - from)}, at most ${seconds(most)}`}</title>
                  </rect>
                </g>
              );
            })}
            <line class="axis" x1="12" x2={width - RIGHT} y1={height - BOTTOM} y2={height - BOTTOM} />
            {ticks(whole / 1000, width > 600 ? 8 : 4).map((tick) => (
              <text key={tick} x={x(opened + 1000 * tick)} y={height - BOTTOM + 15} text-anchor="middle">{significantTick(tick)}</text>
            ))}
          </svg>
        )}
      </div>
    </Frame>
  );
}

interface Label {
  text: string;
  x: number;
  y: number;
  anchor: "start" | "end" | "middle";
}

/** Names beside their points, each where it covers no point and no other name; one without room is left out, and stands in the table. */
export function labels(points: { text: string; x: number; y: number }[], width: number): (Label | null)[] {
  const HALF = 9;
  const boxes = points.map(({ x, y }) => [x - 6, y - 6, x + 6, y + 6]);
  return points.map(({ text, x, y }) => {
    // As wide as letters of this size are in a wide font, such as DejaVu Sans.
    const wide = 10 * text.length;
    const places: [Label, number][] = [
      [{ text, x: x + 9, y, anchor: "start" }, x + 9],
      [{ text, x: x - 9, y, anchor: "end" }, x - 9 - wide],
      [{ text, x, y: y - 16, anchor: "middle" }, x - wide / 2],
      [{ text, x, y: y + 16, anchor: "middle" }, x - wide / 2],
    ];
    for (const [label, left] of places) {
      const box = [left, label.y - HALF, left + wide, label.y + HALF];
      const covers = (other: number[]) => box[0]! < other[2]! && other[0]! < box[2]! && box[1]! < other[3]! && other[1]! < box[3]!;
      if (left < LEFT || left + wide > width || label.y < HALF || boxes.some(covers)) continue;
      boxes.push(box);
      return label;
    }
    return null;
  });
}

/** Gain against ask, with what winners are paid and the price of the last offer turned away. */
export function AuctionChart({ auction }: { auction: Auction }) {
  const [place, width] = useWidth();
  const height = 320;
  const offers = auction.offers.filter((offer) => offer.gain !== null);
  const mostGain = 1.05 * Math.max(1e-12, ...offers.map((offer) => offer.gain!));
  const reserve = Number(auction.reserve);
  const highest = Math.max(...offers.map((offer) => Math.max(Number(offer.ask), Number(offer.payment ?? 0))), 1e-6);
  const mostAsk = 1.05 * highest;
  const x = (gain: number) => LEFT + (gain / mostGain) * (width - LEFT - RIGHT);
  const y = (ask: number) => TOP + (1 - ask / mostAsk) * (height - TOP - BOTTOM);
  const named = offers.length <= 25 ? offers.map((offer) => ({ text: offer.member, x: x(offer.gain!), y: y(Number(offer.ask)) })) : [];
  const names = labels(named, width);
  const { clearing } = auction;
  const end = clearing === null ? 0 : Math.min(mostGain, mostAsk / Math.max(clearing, 1e-12));
  const won = offers.filter((offer) => offer.payment !== null).length;
  const price = clearing === null ? "" : ` The last offer turned away asked ${significant(clearing)} units per nat.`;
  const about = `${won} of ${offers.length} offers won.${price}`;
  return (
    <Frame
      title="Gain against ask"
      unit="nats, units"
      about={about}
      keys={
        <>
          <Key mark="won">won</Key> <Key mark="paid">payment</Key> <Key mark="lost">lost</Key>
          {clearing !== null && (
            <>
              {" "}
              <Key mark="line">clearing price, {significant(clearing)} per nat</Key>
            </>
          )}
        </>
      }
    >
      <div ref={place} class="drawing">
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={`Offers by gain and ask. ${about}`}>
            <Axes
              width={width}
              height={height}
              x={{ at: x, ticks: ticks(mostGain, width > 600 ? 8 : 4), name: "gain, nats", write: significantTick }}
              y={{ at: y, ticks: ticks(mostAsk, 6) }}
            />
            {reserve <= mostAsk && (
              <g>
                <line class="reserve" x1={LEFT} x2={width - RIGHT} y1={y(reserve)} y2={y(reserve)} />
                <text class="note" x={LEFT + 6} y={y(reserve) - 5}>
                  reserve {money(auction.reserve)}
                </text>
              </g>
            )}
            {clearing !== null && <line class="target" x1={x(0)} y1={y(0)} x2={x(end)} y2={y(end * clearing)} />}
            {offers
              .filter((offer) => offer.payment !== null)
              .map((offer) => (
                <g key={offer.member}>
                  <line class="surplus" x1={x(offer.gain!)} x2={x(offer.gain!)} y1={y(Number(offer.ask))} y2={y(Number(offer.payment))} />
                  <line class="paid" x1={x(offer.gain!) - 6} x2={x(offer.gain!) + 6} y1={y(Number(offer.payment))} y2={y(Number(offer.payment))} />
                </g>
              ))}
            {offers.map((offer) => (
              <g key={offer.member}>
                <circle class={offer.payment === null ? "lost" : "won"} cx={x(offer.gain!)} cy={y(Number(offer.ask))} r={offers.length > 200 ? 2.5 : 5}>
                  <title>{`${offer.member} asks ${money(offer.ask)} for ${significant(offer.gain!)} nats: ${offer.why}`}</title>
                </circle>
              </g>
            ))}
            {names.map(
              (label) =>
                label && (
                  <text key={label.text} class="note" x={label.x} y={label.y} dy="0.32em" text-anchor={label.anchor}>
                    {label.text}
                  </text>
                ),
            )}
          </svg>
        )}
      </div>
    </Frame>
  );
}

const significantTick = (value: number): string => String(Number(value.toPrecision(3)));
