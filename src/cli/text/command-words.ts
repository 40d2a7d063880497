// Rewrites the library's error messages for the command line: replaces names of the API by options and
// commands.
//   - The table contains only messages that a command can cause.

const WORDS: readonly (readonly [library: RegExp, command: string])[] = [
  [/\bonConflict\b/, "--on-conflict"],
  [/\bdelay or at\b/, "--delay or --at"],
  [/^before (?=must be from)/, "--before "],
  [/\{ tree: true \}/, "--tree"],
  [
    /\{ before \}(?:, such as \{ before: \{ activity: "charge" \} \})?/,
    "--before or --before-activity",
  ],
  [/needs tokens: see createToken\(\)/, "needs --tokens <file>"],
  [/; use createToken\(\)/, "; generate one with: openssl rand -base64 32"],
  [/, or call PostgresProvider\.migrate,/, ""],
  [/, or open with migrate: "apply"/, ""],
  [/[,;] or open the store with readOnly: true to inspect it/, ""],
];

export function inCommandWords(message: string): string {
  return WORDS.reduce((text, [library, command]) => text.replace(library, command), message);
}
