// Where in the user's code a call was made.

/** The first stack line outside this package; files are named by path or by URL, as the loader likes. */
export function callerOf(stack: string | undefined): string | undefined {
  const lines = stack?.split("\n").slice(1) ?? [];
  const { url, dirname } = import.meta;
  const ours = [url.slice(0, url.lastIndexOf("/") + 1), `${dirname}/`, "node:internal"];
  const line = lines.find((text) => !ours.some((name) => text.includes(name)));
  return line?.trim().replace(/^at /, "");
}
