// The page that stands where the dashboard would, in a checkout in which it has not been built.

export function placeholderPage(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Perdure</title>
</head>
<body>
<h1>Perdure</h1>
<p>The server is running. The dashboard is not part of this build.</p>
<p>The API is described at <a href="api/v1/openapi.json">api/v1/openapi.json</a>.</p>
</body>
</html>
`;
}
