// One chart of a figure, drawn to be turned: lines over numbers or groups of bars, within a range of the horizontal axis. All that it
// looks like stands in attributes, so that a drawing can be exported as it is.
import { useId } from "preact/hooks";
import { short, ticksIn } from "../chart";
import type { Chart, Figure, Look } from "./types";

/** Lines of more points have bands, shorter ones error bars. */
const BAND = 30;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 44;

/** One value at a place of the horizontal axis. */
export interface Value {
  name: string;
  mean: number;
  error: number | null;
  seeds: number;
  label: string | null;
}

/** A place of the horizontal axis, with the values there. Groups of bars stand at 0, 1, 2, and so on. */
export interface Place {
  x: number;
  name: string;
  values: Value[];
}

export interface Range {
  from: number;
  to: number;
}

export interface Setting {
  hidden: ReadonlySet<string>;
  logX: boolean;
  logY: boolean;
}

export const exact = (value: number): string => new Intl.NumberFormat("en", { maximumSignificantDigits: 6 }).format(value);

/** All places in order. What is not finite, or not positive on a logarithmic axis, is left out. */
export function placesOf(chart: Chart, { hidden, logX, logY }: Setting): Place[] {
  const fits = (value: number | null, log: boolean): value is number => value !== null && (!log || value > 0);
  if ("bars" in chart.data) {
    return chart.data.bars.map((group, x) => ({
      x,
      name: group.name,
      values: group.bars
        .filter((bar) => !hidden.has(bar.name) && fits(bar.height, logY))
        .map((bar) => ({ name: bar.name, mean: bar.height!, error: bar.error, seeds: bar.values.length, label: bar.label })),
    }));
  }
  const places = new Map<number, Place>();
  for (const series of chart.data.lines.series) {
    if (hidden.has(series.name)) continue;
    for (const { x, mean, error, values } of series.points) {
      if (!fits(x, logX) || !fits(mean, logY)) continue;
      const place = places.get(x) ?? { x, name: exact(x), values: [] };
      place.values.push({ name: series.name, mean, error, seeds: values.length, label: null });
      places.set(x, place);
    }
  }
  return [...places.values()].sort((a, b) => a.x - b.x);
}

export const isBars = (chart: Chart): boolean => "bars" in chart.data;

/** The whole of the horizontal axis. */
export function wholeOf(chart: Chart, places: Place[]): Range {
  if (isBars(chart)) return { from: -0.5, to: Math.max(0.5, places.length - 0.5) };
  const [from, to] = [places[0]?.x ?? 0, places[places.length - 1]?.x ?? 1];
  return from < to ? { from, to } : { from: from - 0.5, to: to + 0.5 };
}

interface Scale {
  at: (value: number) => number;
  back: (pixel: number) => number;
  ticks: number[];
}

function scale(least: number, most: number, log: boolean, [start, end]: [number, number], about: number): Scale {
  const [turn, unturn] = log ? [Math.log10, (value: number) => 10 ** value] : [(value: number) => value, (value: number) => value];
  const [low, high] = [turn(least), turn(most)];
  const wide = high - low || 1;
  let ticks = ticksIn(least, most, about);
  if (log) {
    const powers = ticksIn(Math.ceil(low), Math.floor(high), about).filter(Number.isInteger).map(unturn);
    const fine = [1, 2, 5].flatMap((factor) => ticksIn(Math.floor(low), Math.ceil(high), 4 * about).filter(Number.isInteger).map((power) => factor * 10 ** power));
    ticks = powers.length >= 3 ? powers : fine.filter((tick) => tick >= least && tick <= most).sort((a, b) => a - b);
  }
  return {
    at: (value) => start + ((turn(value) - low) / wide) * (end - start),
    back: (pixel) => unturn(low + ((pixel - start) / (end - start)) * wide),
    ticks,
  };
}

/** How values become positions in a drawing of this size. */
export function layout(chart: Chart, places: Place[], range: Range, setting: Setting, width: number, height: number): { x: Scale; y: Scale; left: number; seen: Place[] } {
  const seen = places.filter((place) => place.x >= range.from && place.x <= range.to);
  const ends = seen.flatMap((place) => place.values.flatMap(({ mean, error }) => [mean - (error ?? 0), mean + (error ?? 0)]));
  const used = (setting.logY ? seen.flatMap((place) => place.values.flatMap(({ mean, error }) => [mean, mean + (error ?? 0)])) : ends).concat(chart.y.covers ?? []);
  if (isBars(chart) && !setting.logY) used.push(0);
  let least = used.reduce((a, b) => Math.min(a, b), Infinity);
  let most = used.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!Number.isFinite(least)) [least, most] = [setting.logY ? 1 : 0, setting.logY ? 10 : 1];
  if (setting.logY) [least, most] = [least / 1.15, most * 1.15];
  else {
    const room = 0.05 * (most - least || Math.abs(most) || 1);
    [least, most] = [isBars(chart) && least === 0 ? 0 : least - room, isBars(chart) && most === 0 ? 0 : most + room];
  }
  const y = scale(least, most, setting.logY, [height - BOTTOM, TOP], 5);
  const left = 34 + Math.max(...y.ticks.map((tick) => 7 * short(tick).length), 14);
  const inset = isBars(chart) ? 0 : 6;
  const x = scale(range.from, range.to, setting.logX && !isBars(chart), [left + inset, width - RIGHT - inset], width > 520 ? 8 : 4);
  return { x, y, left, seen };
}

/** Bars of one colour get paler, one after the other. */
function pale(look: Look | undefined, looks: Look[]): number {
  const kin = looks.filter((other) => other.colour === look?.colour);
  return look === undefined ? 1 : Math.max(0.3, 1 - 0.25 * kin.indexOf(look));
}

const paint = (look: Look | undefined): string => `var(--series-${look === undefined ? 0 : look.colour})`;

interface DrawingProps {
  chart: Chart;
  looks: Look[];
  setting: Setting;
  range: Range | null;
  width: number;
  height: number;
  /** The place whose values are read out. */
  cursor?: number | null;
  /** A range that is being dragged, in pixels. */
  dragged?: [number, number] | null;
}

/** The drawing alone: elements for an SVG. */
export function Drawing({ chart, looks, setting, range, width, height, cursor, dragged }: DrawingProps) {
  const places = placesOf(chart, setting);
  const { x, y, left, seen } = layout(chart, places, range ?? wholeOf(chart, places), setting, width, height);
  const names = looks.map((look) => look.name).filter((name) => !setting.hidden.has(name));
  const clip = useId();
  const label = "bars" in chart.data ? "" : chart.data.lines.x.label;
  const text = { fill: "var(--muted)", "font-size": 12 };
  return (
    <>
      <clipPath id={clip}><rect x={left} y={0} width={Math.max(0, width - RIGHT - left)} height={height - BOTTOM + 1} /></clipPath>
      {y.ticks.map((tick) => (
        <g key={tick}>
          <line x1={left} x2={width - RIGHT} y1={y.at(tick)} y2={y.at(tick)} stroke="var(--grid)" />
          <text x={left - 7} y={y.at(tick)} dy="0.32em" text-anchor="end" {...text}>{short(tick)}</text>
        </g>
      ))}
      <text x={12} y={(height - BOTTOM) / 2} transform={`rotate(-90 12 ${(height - BOTTOM) / 2})`} text-anchor="middle" {...text}>{chart.y.label}</text>
      {!isBars(chart) && <line x1={left} x2={width - RIGHT} y1={height - BOTTOM} y2={height - BOTTOM} stroke="var(--axis)" />}
      {cursor != null && <line x1={x.at(cursor)} x2={x.at(cursor)} y1={TOP} y2={height - BOTTOM} stroke="var(--axis)" stroke-dasharray="3 3" />}
      {isBars(chart) ? <Bars {...{ looks, names, seen, x, y, height, left, width }} clip={clip} /> : <Lines {...{ looks, names, places, x, y }} clip={clip} />}
      {!isBars(chart) && x.ticks.map((tick) => (
        <g key={tick}>
          <line x1={x.at(tick)} x2={x.at(tick)} y1={height - BOTTOM} y2={height - BOTTOM + 4} stroke="var(--axis)" />
          <text x={x.at(tick)} y={height - BOTTOM + 17} text-anchor="middle" {...text}>{short(tick)}</text>
        </g>
      ))}
      <text x={(left + width - RIGHT) / 2} y={height - 8} text-anchor="middle" {...text}>{label}</text>
      {dragged && <rect x={Math.min(...dragged)} width={Math.abs(dragged[1] - dragged[0])} y={TOP} height={height - BOTTOM - TOP} fill="var(--blue)" fill-opacity="0.15" />}
    </>
  );
}

function Lines(props: { looks: Look[]; names: string[]; places: Place[]; x: Scale; y: Scale; clip: string }) {
  const { looks, places, x, y, clip } = props;
  const names = props.names.length > 0 ? props.names : [""];
  return (
    <g clip-path={`url(#${clip})`}>
      {names.map((name) => {
        const look = looks.find((look) => look.name === name);
        const points = places.flatMap((place) => place.values.filter((value) => value.name === name).map((value) => ({ at: x.at(place.x), ...value })));
        if (points.length === 0) return null;
        const low = (value: Value) => y.at(value.mean - (value.error ?? 0));
        const high = (value: Value) => y.at(value.mean + (value.error ?? 0));
        const floor = (pixel: number) => (Number.isFinite(pixel) ? pixel : y.at(points[0]!.mean) + 1e4);
        const erring = points.filter((point) => point.error !== null && point.error > 0);
        const path = points.map((point, index) => `${index ? "L" : "M"}${point.at.toFixed(2)},${y.at(point.mean).toFixed(2)}`).join("");
        const band = [...points.map((point) => [point.at, high(point)] as const), ...[...points].reverse().map((point) => [point.at, floor(low(point))] as const)];
        return (
          <g key={name} data-series={name} stroke={paint(look)} fill="none">
            {points.length > BAND && erring.length > 0 && <path d={`M${band.map(([a, b]) => `${a.toFixed(2)},${b.toFixed(2)}`).join("L")}Z`} fill={paint(look)} fill-opacity="0.15" stroke="none" />}
            {points.length <= BAND && erring.map((point) => (
              <path key={point.at} d={`M${point.at - 4},${high(point)}h8M${point.at},${high(point)}V${floor(low(point))}M${point.at - 4},${floor(low(point))}h8`} stroke-opacity="0.6" />
            ))}
            <path d={path} stroke-width="2" stroke-dasharray={look?.dash || undefined} stroke-linejoin="round" />
            {points.length <= BAND && points.map((point) => <circle key={point.at} cx={point.at} cy={y.at(point.mean)} r="3.5" fill={paint(look)} stroke="var(--ground)" />)}
          </g>
        );
      })}
    </g>
  );
}

function Bars(props: { looks: Look[]; names: string[]; seen: Place[]; x: Scale; y: Scale; height: number; left: number; width: number; clip: string }) {
  const { looks, names, seen, x, y, height, clip } = props;
  const text = { fill: "var(--muted)", "font-size": 12 };
  const whole = x.at(1) - x.at(0);
  const foot = Math.min(height - BOTTOM, y.at(0) || Infinity);
  const zero = Number.isFinite(y.at(0)) ? foot : height - BOTTOM;
  // So many letters fit below a group.
  const letters = Math.max(3, Math.floor(whole / 7.2));
  return (
    <>
      <g clip-path={`url(#${clip})`}>
        {seen.map((place) => {
          const shown = names.filter((name) => place.values.some((value) => value.name === name));
          const order = shown.length > 0 ? shown : [""];
          const thick = Math.min(34, (0.82 * whole) / order.length);
          return place.values.map((value) => {
            const slot = Math.max(0, order.indexOf(value.name));
            const [middle, top] = [x.at(place.x) + (slot - (order.length - 1) / 2) * thick, y.at(value.mean)];
            const look = looks.find((look) => look.name === value.name);
            const error = value.error !== null && value.error > 0 ? value.error : null;
            return (
              <g key={`${place.x} ${value.name}`} data-series={value.name}>
                <rect x={middle - thick / 2 + 0.5} width={Math.max(1, thick - 1)} y={Math.min(top, zero)} height={Math.abs(zero - top)} fill={paint(look)} fill-opacity={pale(look, looks)} />
                {error !== null && <path d={`M${middle},${y.at(value.mean + error)}V${Math.min(height, y.at(value.mean - error) || height)}`} stroke="var(--ink)" stroke-width="1.25" />}
              </g>
            );
          });
        })}
      </g>
      <line x1={props.left} x2={props.width - RIGHT} y1={zero} y2={zero} stroke="var(--axis)" />
      {seen.map((place, index) => (
        whole * seen.length > 0 && (whole >= 26 || index % Math.ceil(26 / whole) === 0) && (
          <text key={place.x} x={x.at(place.x)} y={height - BOTTOM + 17} text-anchor="middle" {...text}>{place.name.length > letters ? `${place.name.slice(0, letters - 1)}…` : place.name}</text>
        )
      ))}
    </>
  );
}

/** Beside a name, how it is drawn. */
export const Sample = ({ look, looks, bars }: { look: Look | undefined; looks: Look[]; bars: boolean }) => (
  <svg width="22" height="10" aria-hidden="true">
    {bars ? <rect width="22" height="10" rx="1" fill={paint(look)} fill-opacity={pale(look, looks)} /> : <line x1="0" x2="22" y1="5" y2="5" stroke={paint(look)} stroke-width="2.5" stroke-dasharray={look?.dash || undefined} />}
  </svg>
);

const PAPER_WIDTH = 840;
const PAPER_HEIGHT = 380;

/** A whole figure as it is shown, with a legend: for a file. */
export function Paper(props: { figure: Figure; looks: Look[]; setting: Setting; ranges: (Range | null)[] }) {
  const { figure, looks, setting, ranges } = props;
  const shown = looks.filter((look) => !setting.hidden.has(look.name));
  const rows: { look: Look; x: number; y: number }[] = [];
  let [right, row] = [16, 0];
  for (const look of shown) {
    const wide = 46 + 7.4 * look.name.length;
    if (right + wide > PAPER_WIDTH && right > 16) [right, row] = [16, row + 1];
    rows.push({ look, x: right, y: 18 + 20 * row });
    right += wide;
  }
  const head = shown.length > 0 ? 34 + 20 * row : 8;
  const each = PAPER_HEIGHT + (figure.charts.length > 1 ? 24 : 0);
  const height = head + each * figure.charts.length;
  return (
    <svg xmlns="http://www.w3.org/2000/svg" width={PAPER_WIDTH} height={height} viewBox={`0 0 ${PAPER_WIDTH} ${height}`} font-family="Inter, system-ui, sans-serif">
      <title>{figure.title}</title>
      <desc>{figure.caption}</desc>
      <rect width={PAPER_WIDTH} height={height} fill="var(--ground)" />
      {rows.map(({ look, x, y }) => (
        <g key={look.name} transform={`translate(${x} ${y})`}>
          {figure.charts.every(isBars)
            ? <rect width="26" height="10" y="-5" rx="1" fill={paint(look)} fill-opacity={pale(look, looks)} />
            : <line x2="26" stroke={paint(look)} stroke-width="2.5" stroke-dasharray={look.dash || undefined} />}
          <text x="32" dy="0.32em" fill="var(--ink)" font-size="12">{look.name}</text>
        </g>
      ))}
      {figure.charts.map((chart, index) => (
        <g key={index} transform={`translate(0 ${head + index * each})`}>
          {figure.charts.length > 1 && <text x="16" y="14" fill="var(--ink)" font-size="13" font-weight="600">{chart.title}</text>}
          <g transform={figure.charts.length > 1 ? "translate(0 24)" : undefined}>
            <Drawing chart={chart} looks={looks} setting={setting} range={ranges[index] ?? null} width={PAPER_WIDTH} height={PAPER_HEIGHT} />
          </g>
        </g>
      ))}
    </svg>
  );
}
