/**
 * Names in a repository by which agents and editors are made to run programs, or to do more than they may. No agent writes
 * them in its sandbox, neither its own nor those of others: the next one who works there, or the user outside, would do
 * what they say.
 */
export const configuration: readonly string[] = [
  '.mcp.json',
  '.claude',
  '.codex',
  '.gemini',
  'opencode.json',
  'opencode.jsonc',
  '.opencode/plugin',
  '.opencode/plugins',
  '.opencode/tool',
  '.vscode',
]
