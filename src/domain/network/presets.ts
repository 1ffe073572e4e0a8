/**
 * What tools need to do their work, by names that a list of rules may hold. Only what is needed: no telemetry, no web
 * pages, no way to publish where there is another host for that.
 */
export const presets = {
  alpine: { for: 'apk', hosts: ['dl-cdn.alpinelinux.org'] },
  anthropic: { for: 'Claude: the API, and to renew a login', hosts: ['api.anthropic.com', 'platform.claude.com'] },
  crates: { for: 'cargo', hosts: ['index.crates.io', 'static.crates.io'] },
  debian: { for: 'apt on Debian', hosts: ['deb.debian.org', 'security.debian.org'] },
  docker: {
    for: 'images of Docker Hub',
    hosts: [
      'registry-1.docker.io',
      'auth.docker.io',
      'production.cloudflare.docker.com',
      'production.cloudfront.docker.com',
      'docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com',
    ],
  },
  github: {
    for: 'git over https, the API, archives and releases',
    hosts: [
      'github.com',
      'api.github.com',
      'codeload.github.com',
      'objects.githubusercontent.com',
      'raw.githubusercontent.com',
      'release-assets.githubusercontent.com',
    ],
  },
  gitlab: { for: 'git over https and the API of gitlab.com', hosts: ['gitlab.com'] },
  go: { for: 'modules of Go', hosts: ['proxy.golang.org', 'sum.golang.org', 'storage.googleapis.com'] },
  google: {
    for: 'Gemini: the API, and a login of the Gemini CLI',
    hosts: ['generativelanguage.googleapis.com', 'cloudcode-pa.googleapis.com', 'oauth2.googleapis.com'],
  },
  hex: { for: 'mix and rebar3', hosts: ['repo.hex.pm', 'hex.pm', 'builds.hex.pm'] },
  maven: { for: 'Maven Central', hosts: ['repo.maven.apache.org', 'repo1.maven.org'] },
  npm: { for: 'npm, pnpm, bun', hosts: ['registry.npmjs.org'] },
  nuget: { for: 'dotnet', hosts: ['api.nuget.org'] },
  openai: {
    for: 'Codex: the API, a ChatGPT plan, and to renew a login',
    hosts: ['api.openai.com', 'chatgpt.com', 'auth.openai.com'],
  },
  packagist: { for: 'composer', hosts: ['repo.packagist.org'] },
  pypi: { for: 'pip, uv, poetry', hosts: ['pypi.org', 'files.pythonhosted.org'] },
  rubygems: { for: 'gem, bundler', hosts: ['rubygems.org', 'index.rubygems.org'] },
  rustup: { for: 'toolchains of Rust', hosts: ['static.rust-lang.org'] },
  ubuntu: {
    for: 'apt on Ubuntu',
    hosts: ['archive.ubuntu.com', 'security.ubuntu.com', 'ports.ubuntu.com'],
  },
  yarn: { for: 'yarn', hosts: ['registry.yarnpkg.com', 'repo.yarnpkg.com'] },
} as const satisfies Record<string, { readonly for: string; readonly hosts: readonly string[] }>

export const presetNames = Object.keys(presets)

/** The hosts of a preset; undefined if none has that name. */
export const presetHosts = (name: string): readonly string[] | undefined =>
  Object.hasOwn(presets, name) ? presets[name as keyof typeof presets].hosts : undefined
