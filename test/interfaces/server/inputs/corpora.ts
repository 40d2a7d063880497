// Hostile texts, combined from parts: enough of each kind to find a hole of that kind.

const SQL_PARTS = [
  "'",
  "''",
  '"',
  "`",
  ";",
  "--",
  "/*",
  "*/",
  "\\",
  "%",
  "_",
  "' OR '1'='1",
  "' OR 1=1 --",
  '" OR ""="',
  "'; DROP TABLE instances; --",
  "1; DELETE FROM instances",
  "' UNION SELECT * FROM instances --",
  "') OR ('a'='a",
  "x' AND 1=(SELECT COUNT(*) FROM instances) --",
  "'; ATTACH DATABASE '/tmp/x' AS x; --",
  "'||(SELECT sqlite_version())||'",
  "$1",
  "?1",
  ":id",
  "@id",
  "E'\\x27'",
  "pg_sleep(5)",
  "'; SELECT pg_sleep(5); --",
  "${7*7}",
  "{{7*7}}",
];
const SQL_FRAMES = [
  (text: string) => text,
  (text: string) => `order${text}`,
  (text: string) => `${text}order`,
  (text: string) => `%${text}%`,
  (text: string) => text.toUpperCase().replaceAll(" ", "/**/"),
  (text: string) => `${text}'${text}`,
  (text: string) => `(${text})`,
];

/** 210 texts with a meaning in SQL. */
export const SQL_TEXTS: readonly string[] = SQL_FRAMES.flatMap((frame) => SQL_PARTS.map(frame));

const DOTS = [
  "..",
  "%2e%2e",
  "%2E%2E",
  ".%2e",
  "%2e.",
  "%252e%252e",
  "..;",
  "....",
  "%c0%ae%c0%ae",
  "%uff0e%uff0e",
];
const SLASHES = ["/", "%2f", "%2F", "\\", "%5c", "%255c", "//", "/./"];
const TARGETS = ["etc/passwd", "secret.txt", "package.json"];

/** Paths that try to leave a folder: 240 combinations, and some single cases. */
export const TRAVERSALS: readonly string[] = [
  ...DOTS.flatMap((dots) =>
    SLASHES.flatMap((slash) => TARGETS.map((target) => `/${(dots + slash).repeat(4)}${target}`)),
  ),
  "/assets/../../secret.txt",
  "/assets/%2e%2e/%2e%2e/secret.txt",
  "/assets/..%00/secret.txt",
  "/secret.txt%00.js",
  "/%00",
  "/link.txt",
  "/folder-link/secret.txt",
  "//etc/passwd",
  "/file:///etc/passwd",
  "/C:/windows/win.ini",
];
