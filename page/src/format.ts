// Numbers and times as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (value: number): string => whole.format(value);

export const counted = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** A decimal number with thousands set apart, every digit kept. */
export function money(units: string): string {
  const [, sign = "", digits = "0", rest = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(units) ?? [];
  const grouped = digits.replace(/\B(?=(\d{3})+$)/g, " ");
  return `${sign ? "−" : ""}${grouped}.${rest.padEnd(2, "0")}`;
}

/** Amounts of one column, so that their points stand below each other. */
export function column(values: (string | null)[]): (unit: string | null) => string {
  const decimals = (unit: string) => Math.max(2, unit.split(".")[1]?.length ?? 0);
  const most = Math.max(2, ...values.map((value) => (value === null ? 0 : decimals(value))));
  // A figure space is as wide as a digit.
  return (unit) => (unit === null ? "" : money(unit) + " ".repeat(most - decimals(unit)));
}

export const percent = (ratio: number): string => `${(100 * ratio).toFixed(1)} %`;

export function significant(value: number): string {
  if (value === 0) return "0";
  return Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5 ? value.toPrecision(4) : value.toExponential(2);
}

const two = (value: number) => String(value).padStart(2, "0");

/** A date and a time in UTC, as the commands print them. */
export function moment(ms: number): string {
  const at = new Date(ms);
  return `${at.toISOString().slice(0, 10)} ${clock(ms)}`;
}

export function clock(ms: number): string {
  const at = new Date(ms);
  return `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
}

export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
