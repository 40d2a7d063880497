// Which files a worker has loaded, told to its parent as they are loaded, so that it knows what to watch.
//   LF1. Also of code that does not load: the file with the mistake is among them.

import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

/** Set in a worker whose files are watched. */
export const REPORT_FILES = "PERDURE_REPORT_FILES";

export interface LoadedFile {
  readonly perdureLoaded: string;
}

/** Called before the config is loaded. Packages are left out: they change by installing, not by editing. */
export function reportLoadedFiles(): void {
  registerHooks({
    load(url, context, nextLoad) {
      if (url.startsWith("file:") && !url.includes("/node_modules/")) {
        const message: LoadedFile = { perdureLoaded: fileURLToPath(url) };
        process.send?.(message);
      }
      return nextLoad(url, context);
    },
  });
}

export function loadedFile(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  const { perdureLoaded: file } = message as Partial<LoadedFile>;
  return typeof file === "string" ? file : undefined;
}
