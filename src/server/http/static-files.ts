// Serves the dashboard's files from one folder.
//   - The server lists the folder and looks up the requested name in that list. A path from a request
//        never reaches the file system, so a request cannot leave the folder (S21). Symbolic links are not
//        followed.
//   - A browser that navigates to a path without a file gets the page, because the dashboard's addresses
//        are paths.
//   - Files below assets/ have a hash in their name, and browsers cache them forever. Browsers revalidate
//        the page each time.
//   - static-files.1: The package contains the files below assets/ only compressed, as `<name>.gz`, which
//        is two thirds smaller. A request names the file without `.gz`. A client that does not accept gzip
//        gets it decompressed.

import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, posix } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};
const FILES_MAX = 1_000;
const DEPTH_MAX = 5;
/** The list of files is read again after this time, so that the server notices a new build. */
const FRESH_MS = 1_000;

interface File {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly zipped: Uint8Array<ArrayBuffer> | null;
  readonly type: string;
  readonly etag: string;
}

export class StaticFiles {
  readonly #folder: string | null;
  readonly #cache = new Map<string, File>();
  /** The files by name, and whether each is stored compressed. */
  #names: ReadonlyMap<string, { readonly isZipped: boolean }> = new Map();
  #readAt = -Infinity;

  /** Null: no dashboard is served. */
  constructor(folder: string | null) {
    this.#folder = folder;
  }

  /** `path`: the request's path below the mount path. `base`: the mount path. */
  async answer(request: Request, path: string, base: string): Promise<Response | null> {
    if (this.#folder === null) return null;
    await this.#refresh(this.#folder);
    const name = path.replace(/^\//, "");
    if (this.#names.has(name) && name !== "index.html") {
      return fileAnswer(request, await this.#file(this.#folder, name), name);
    }
    const isNavigation = !isHashed(name) && names(request, "accept", "text/html");
    if (name !== "" && name !== "index.html" && !isNavigation) return null;
    const page = this.#names.has("index.html")
      ? new TextDecoder().decode((await this.#file(this.#folder, "index.html")).bytes)
      : placeholderPage();
    return new Response(withBase(page, base), {
      headers: { "Content-Type": TYPES[".html"] ?? "", "Cache-Control": "no-cache" },
    });
  }

  async #refresh(folder: string): Promise<void> {
    if (performance.now() - this.#readAt < FRESH_MS) return;
    this.#readAt = performance.now();
    const names = new Map<string, { readonly isZipped: boolean }>();
    await collect(folder, "", 0, names);
    for (const name of this.#cache.keys()) {
      if (!names.has(name) || !isHashed(name)) this.#cache.delete(name);
    }
    this.#names = names;
  }

  async #file(folder: string, name: string): Promise<File> {
    const known = this.#cache.get(name);
    if (known !== undefined) return known;
    const isZipped = this.#names.get(name)?.isZipped === true;
    const stored = new Uint8Array(await readFile(join(folder, isZipped ? `${name}.gz` : name)));
    const bytes = isZipped ? new Uint8Array(gunzipSync(stored)) : stored;
    const isText = /^text\/|json$|svg/.test(TYPES[extname(name)] ?? "");
    const file: File = {
      bytes,
      zipped: isZipped ? stored : isText ? new Uint8Array(gzipSync(bytes)) : null,
      type: TYPES[extname(name)] ?? "application/octet-stream",
      etag: `"${hash("sha256", bytes, "base64url")}"`,
    };
    this.#cache.set(name, file);
    return file;
  }
}

/** Collects regular files by their paths below the folder. A missing folder has none. */
async function collect(
  root: string,
  below: string,
  depth: number,
  names: Map<string, { readonly isZipped: boolean }>,
) {
  if (depth > DEPTH_MAX) return;
  const entries = await readdir(join(root, below), { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const name = posix.join(below, entry.name);
    if (entry.isDirectory()) await collect(root, name, depth + 1, names);
    else if (entry.isFile() && names.size < FILES_MAX) {
      const isZipped = isHashed(name) && name.endsWith(".gz");
      names.set(isZipped ? name.slice(0, -".gz".length) : name, { isZipped });
    }
  }
}

function fileAnswer(request: Request, file: File, name: string): Response {
  const headers = new Headers({
    "Content-Type": file.type,
    "Cache-Control": isHashed(name) ? "public, max-age=31536000, immutable" : "no-cache",
    ETag: file.etag,
    Vary: "Accept-Encoding",
  });
  if (request.headers.get("if-none-match") === file.etag) {
    return new Response(null, { status: 304, headers });
  }
  const zipped = names(request, "accept-encoding", "gzip") ? file.zipped : null;
  if (zipped !== null) headers.set("Content-Encoding", "gzip");
  return new Response(zipped ?? file.bytes, { headers });
}

function isHashed(name: string): boolean {
  return name.startsWith("assets/");
}

function names(request: Request, header: string, what: string): boolean {
  return request.headers.get(header)?.includes(what) ?? false;
}

/** Adds a `<base>`, so that relative addresses in the page resolve to the mount path at any depth. */
function withBase(page: string, base: string): string {
  const href = `${base}/`.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return page.replace(/<head>/i, (head) => `${head}<base href="${href}">`);
}

/** The page that the server shows if the dashboard has not been built, as in a fresh checkout. */
function placeholderPage(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Perdure</title>
</head>
<body>
<h1>Perdure</h1>
<p>The server is running. The dashboard has not been built.</p>
<p>The API is documented at <a href="api/v1/openapi.json">api/v1/openapi.json</a>.</p>
</body>
</html>
`;
}
