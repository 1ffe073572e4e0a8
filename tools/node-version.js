// The first thing that the library loads. Syntax that every Node with modules reads: an old one must be able to say what
// is missing, before it meets what it does not know.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 18)) {
  throw Object.assign(
    new Error(
      'agent-workspaces needs Node 22.18 or later, and this is Node ' +
        process.versions.node +
        ' (' +
        process.execPath +
        '). Install a current Node, 24 is best.',
    ),
    { name: 'AwError', code: 'unsupported' },
  )
}
