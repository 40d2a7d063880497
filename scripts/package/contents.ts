// The contents of the package: everything that package.json promises, no development files, at most 4 MB.

import type { Packed } from "./pack.ts";

export const UNPACKED_BYTES_MAX = 4_000_000;

const ALLOWED = [
  /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|SECURITY\.md|llms\.txt)$/,
  /^docs\/[\w/-]+\.md$/,
  /^dist\/(?!site\/)[\w./-]+\.(js|js\.map|d\.ts|sql|json|html|css|svg|woff2|ico|png|gz)$/,
];
const FORBIDDEN = [
  /\.test\./,
  /\.ts\.map$/,
  /(^|\/)(test|bench|demo|scripts)\//,
  /tsconfig/,
  /\.db$/,
];

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin: Readonly<Record<string, string>>;
}

export function contentProblems({ files, unpackedBytes }: Packed, manifest: Manifest): string[] {
  const paths = new Set(files.map(({ path }) => path));
  const unwanted = [...paths].filter(
    (path) =>
      !ALLOWED.some((pattern) => pattern.test(path)) ||
      FORBIDDEN.some((pattern) => pattern.test(path)),
  );
  const missing = promised(manifest).filter((path) => !paths.has(path));
  return [
    ...unwanted.map((path) => `${path} must not be in the package`),
    ...missing.map((path) => `${path} is named in package.json, but missing`),
    ...(unpackedBytes > UNPACKED_BYTES_MAX
      ? [`the unpacked size must be at most ${UNPACKED_BYTES_MAX} bytes; got ${unpackedBytes}`]
      : []),
  ];
}

function promised({ exports, bin }: Manifest): string[] {
  const targets = Object.values(exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  );
  return [...targets, ...Object.values(bin)].map((target) => target.replace(/^\.\//, ""));
}
