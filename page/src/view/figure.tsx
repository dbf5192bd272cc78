// A figure to turn: names on and off, logarithmic axes, a range of the horizontal axis, values under the pointer, and the drawing as a file.
import { render } from "preact";
import { useRef, useState } from "preact/hooks";
import { save } from "../api";
import { useWidth } from "../chart";
import { counted } from "../format";
import { Table } from "../parts";
import type { Column } from "../parts";
import { Drawing, exact, isBars, layout, Paper, placesOf, Sample, wholeOf } from "./plot";
import type { Place, Range, Setting, Value } from "./plot";
import type { Chart, Drawn, Look } from "./types";

/** A drag of fewer pixels is a click. */
const LEAST_DRAG = 6;

const told = ({ mean, error, label }: Value): string => `${exact(mean)}${error !== null && error > 0 ? ` ± ${exact(error)}` : ""}${label ? ` (${label})` : ""}`;

interface PlotProps {
  chart: Chart;
  looks: Look[];
  setting: Setting;
  range: Range | null;
  zoom: (range: Range | null) => void;
}

function Plot({ chart, looks, setting, range, zoom }: PlotProps) {
  const [place, width] = useWidth();
  const height = width > 700 ? 380 : 300;
  const [cursor, setCursor] = useState<number | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const start = useRef<number | null>(null);
  const places = placesOf(chart, setting);
  const shown = range ?? wholeOf(chart, places);
  const { x, seen } = layout(chart, places, shown, setting, Math.max(width, 200), height);
  const at: Place | undefined = cursor === null ? undefined : seen.reduce<Place | undefined>((best, one) => (best === undefined || Math.abs(one.x - cursor) < Math.abs(best.x - cursor) ? one : best), undefined);
  const axis = "bars" in chart.data ? "" : chart.data.lines.x.label;
  const pixel = (event: PointerEvent) => event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
  function nearest(event: PointerEvent): Place | undefined {
    const here = pixel(event);
    return seen.reduce<Place | undefined>((best, one) => (best === undefined || Math.abs(x.at(one.x) - here) < Math.abs(x.at(best.x) - here) ? one : best), undefined);
  }
  function move(event: PointerEvent): void {
    setCursor(nearest(event)?.x ?? null);
    if (start.current !== null) setDrag([start.current, pixel(event)]);
  }
  function down(event: PointerEvent): void {
    if (event.button !== 0) return;
    start.current = pixel(event);
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
  }
  function up(event: PointerEvent): void {
    const [from, to] = [start.current, pixel(event)];
    start.current = null;
    setDrag(null);
    if (from === null || Math.abs(to - from) < LEAST_DRAG) return;
    const [low, high] = [x.back(Math.min(from, to)), x.back(Math.max(from, to))];
    narrow({ from: Math.max(low, shown.from), to: Math.min(high, shown.to) });
  }
  /** A range without anything in it is none. */
  function narrow(to: Range): void {
    if (isBars(chart)) to = { from: Math.round(to.from) - 0.5, to: Math.round(to.to) + 0.5 };
    if (places.some((one) => one.x >= to.from && one.x <= to.to)) zoom(to);
  }
  function near(factor: number): void {
    const middle = at?.x ?? (shown.from + shown.to) / 2;
    const half = (factor * (shown.to - shown.from)) / 2;
    const whole = wholeOf(chart, places);
    const next = { from: Math.max(whole.from, middle - half), to: Math.min(whole.to, middle + half) };
    if (factor > 1 && next.from === whole.from && next.to === whole.to) zoom(null);
    else narrow(next);
  }
  function press(event: KeyboardEvent): void {
    const index = at === undefined ? -1 : seen.indexOf(at);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step !== undefined) setCursor(seen[Math.min(seen.length - 1, Math.max(0, index + step))]?.x ?? null);
    else if (event.key === "+") near(0.5);
    else if (event.key === "-") near(2);
    else if (event.key === "0" || event.key === "Escape") zoom(null);
    else return;
    event.preventDefault();
  }
  const about = `${chart.title || chart.y.label}: ${counted(seen.length, "place")} of ${places.length} shown.`;
  return (
    <figure class="chart plot">
      <figcaption>
        <strong>{chart.title || chart.y.label}</strong>
        {range !== null && (
          <>
            <span class="muted number">{isBars(chart) ? `${seen.length} of ${places.length}` : `${exact(shown.from)} to ${exact(shown.to)}`}</span>
            <button type="button" onClick={() => zoom(null)}>Show all</button>
          </>
        )}
      </figcaption>
      <div ref={place} class="drawing" tabIndex={0} role="group" aria-label={`${about} Arrow keys read values out, + and - zoom, 0 shows all.`} onKeyDown={press}>
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={about}
            onPointerMove={move} onPointerDown={down} onPointerUp={up} onPointerLeave={() => start.current === null && setCursor(null)} onDblClick={() => zoom(null)}>
            <Drawing chart={chart} looks={looks} setting={setting} range={range} width={width} height={height} cursor={at?.x ?? null} dragged={drag} />
          </svg>
        )}
      </div>
      <p class="readout" role="status">
        {at === undefined ? (
          <span class="muted">{places.length === 0 ? "Nothing to show." : "Point at the chart for values; drag to zoom, double-click for all."}</span>
        ) : (
          <>
            <strong>{axis && `${axis} `}{at.name}</strong>
            {at.values.map((value) => (
              <span key={value.name} data-name={value.name}>
                <Sample look={looks.find((look) => look.name === value.name)} looks={looks} bars={isBars(chart)} /> {value.name} <span class="number">{told(value)}</span>
              </span>
            ))}
          </>
        )}
      </p>
    </figure>
  );
}

interface Line extends Value {
  chart: string;
  place: Place;
  order: number;
}

/** The values that are shown, for whoever cannot see the drawing. */
function Values({ drawn: { figure }, setting, ranges }: { drawn: Drawn; setting: Setting; ranges: (Range | null)[] }) {
  const [isOpen, setOpen] = useState(false);
  const lines = !isOpen ? [] : figure.charts.flatMap((chart, index) => {
    const places = placesOf(chart, setting);
    const range = ranges[index] ?? wholeOf(chart, places);
    const inside = places.filter((place) => place.x >= range.from && place.x <= range.to);
    return inside.flatMap((place) => place.values.map((value) => ({ ...value, chart: chart.title || chart.y.label, place, order: index })));
  });
  const columns: Column<Line>[] = [
    { name: "chart", by: (line) => line.order, show: (line) => line.chart },
    { name: "at", by: (line) => line.place.x, show: (line) => line.place.name },
    { name: "name", by: (line) => line.name, show: (line) => line.name },
    { name: "mean", number: true, by: (line) => line.mean, show: (line) => exact(line.mean) },
    { name: figure.errors === "intervals" ? "half of 95 %" : "deviation", number: true, by: (line) => line.error ?? 0, show: (line) => (line.error === null ? "" : exact(line.error)) },
    { name: "note", show: (line) => line.label ?? "" },
  ];
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Values</summary>
      {isOpen && <Table caption="Values of the figure" columns={columns} rows={lines.slice(0, 2000)} name={(line) => `${line.order} ${line.place.x} ${line.name}`} empty="Nothing is shown." />}
      {lines.length > 2000 && <p class="muted">The first 2000 of {lines.length}: zoom in for others.</p>}
    </details>
  );
}

/** The drawing as a document of its own, on white: colours stand in it as they are on paper. */
function asSvg(drawn: Drawn, setting: Setting, ranges: (Range | null)[]): string {
  const paper = document.createElement("div");
  paper.className = "paper";
  paper.hidden = true;
  document.body.append(paper);
  try {
    render(<Paper figure={drawn.figure} looks={drawn.looks} setting={setting} ranges={ranges} />, paper);
    const colours = getComputedStyle(paper);
    const text = new XMLSerializer().serializeToString(paper.querySelector("svg")!);
    return text.replace(/var\((--[\w-]+)\)/g, (_, name: string) => colours.getPropertyValue(name).trim());
  } finally {
    render(null, paper);
    paper.remove();
  }
}

export function FigureView({ drawn, note }: { drawn: Drawn; note?: string }) {
  const { figure, looks } = drawn;
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [logX, setLogX] = useState(figure.charts.some((chart) => "lines" in chart.data && chart.data.lines.x.scale === "log"));
  const [logY, setLogY] = useState(figure.charts.some((chart) => chart.y.scale === "log"));
  const [ranges, setRanges] = useState<(Range | null)[]>([]);
  const setting: Setting = { hidden, logX, logY };
  const hasLines = figure.charts.some((chart) => !isBars(chart));
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  return (
    <section class="card" aria-labelledby="figure">
      <h2 id="figure">{figure.title}</h2>
      <p class="muted">{figure.caption}{note && ` ${note}`}</p>
      <div class="bar">
        {hasLines && <label class="check"><input type="checkbox" checked={logX} onChange={(event) => setLogX(event.currentTarget.checked)} /> Logarithmic across</label>}
        <label class="check"><input type="checkbox" checked={logY} onChange={(event) => setLogY(event.currentTarget.checked)} /> Logarithmic upwards</label>
        <button type="button" onClick={() => save(new Blob([asSvg(drawn, setting, ranges)], { type: "image/svg+xml" }), `${figure.id}.svg`)}>Download SVG</button>
      </div>
      {looks.length > 0 && (
        <div class="legend" role="group" aria-label="What is shown">
          {looks.map((look) => (
            <button key={look.name} type="button" aria-pressed={!hidden.has(look.name)} onClick={() => toggle(look.name)}>
              <Sample look={look} looks={looks} bars={!hasLines} /> {look.name}
            </button>
          ))}
          {looks.length > 2 && (
            <>
              <button type="button" disabled={hidden.size === 0} onClick={() => setHidden(new Set())}>All</button>
              <button type="button" disabled={hidden.size === looks.length} onClick={() => setHidden(new Set(looks.map((look) => look.name)))}>None</button>
            </>
          )}
        </div>
      )}
      <div class={`plots${figure.charts.length > 1 ? " many" : ""}`}>
        {figure.charts.map((chart, index) => (
          <Plot key={index} chart={chart} looks={looks} setting={setting} range={ranges[index] ?? null} zoom={(range) => setRanges(figure.charts.map((_, other) => (other === index ? range : (ranges[other] ?? null))))} />
        ))}
      </div>
      <Values drawn={drawn} setting={setting} ranges={ranges} />
    </section>
  );
}
