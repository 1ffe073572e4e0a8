-- A home of format 0, which was never released: events have no columns for task and agent, and workspaces none for
-- trash. It proves the way from one format to the next.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE events (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, stream TEXT NOT NULL, version INTEGER NOT NULL,
  at TEXT NOT NULL, type TEXT NOT NULL, schema INTEGER NOT NULL, data TEXT NOT NULL, meta TEXT NOT NULL,
  hash TEXT NOT NULL, UNIQUE (stream, version)
) STRICT;
CREATE TABLE streams (stream TEXT PRIMARY KEY, version INTEGER NOT NULL, hash TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE workspaces (
  id TEXT PRIMARY KEY, task TEXT NOT NULL, agent TEXT NOT NULL, state TEXT NOT NULL, live INTEGER NOT NULL,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, version INTEGER NOT NULL, in_operation INTEGER NOT NULL,
  labels TEXT NOT NULL, data TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX live_names ON workspaces (task, agent) WHERE live = 1;
CREATE TABLE leases (
  resource TEXT PRIMARY KEY, id TEXT NOT NULL, holder TEXT NOT NULL, acquired_at TEXT NOT NULL, expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoints (
  number INTEGER PRIMARY KEY, at TEXT NOT NULL, position INTEGER NOT NULL, events INTEGER NOT NULL, hash TEXT NOT NULL
) STRICT;
INSERT INTO meta (key, value) VALUES ('format', '0');
INSERT INTO events (position, id, stream, version, at, type, schema, data, meta, hash) VALUES (1, 'ev_01kdyak348081040g2081040g2', 'home', 1, '2026-01-02T03:04:05.000Z', 'home_created', 1, '{"format":1,"owner_uid":0}', '{"actor":"system","correlation_id":"cor_01kdyak348040g2081040g2081","causation_id":null,"operation":null}', '749b41704694047c36ab2c9517fc265a42c991e565ee00dbf7a6a985c790ea7b');
INSERT INTO events (position, id, stream, version, at, type, schema, data, meta, hash) VALUES (2, 'ev_01hzx5k8w40000000000000003', 'ws_01hzx5k8w40000000000000001', 1, '2026-01-02T03:04:05.000Z', 'workspace_create_started', 1, '{"task_id":"fix-login","agent_id":"main","operation":"create","owner":{"host":"builder","boot_id":"f1f6f7a0-4f1c-4f0e-9d0e-0c6f5b7d7a11","pid_namespace":"4026531836","pid":4242,"start_time":"123456"},"workspace_path":"/home/user/.aw/workspaces/fix-login/main","profile":"aw","source":{"kind":"folder","path":"/home/user/project"},"config":{"max_size_mb":1024,"allowed_operations":["read","write"],"git_config":{"enabled":true,"user_name":"Agent","user_email":"agent@example.com"}},"labels":{"team":"web"},"driver":"dir"}', '{"actor":"user:1000","correlation_id":"cor_sample","causation_id":null,"operation":{"id":"op_01hzx5k8w40000000000000002","epoch":1}}', 'ff1cfa85b907d5d7306a43c5c3357a98e878e947cf4d36185499445eb080bcba');
INSERT INTO events (position, id, stream, version, at, type, schema, data, meta, hash) VALUES (3, 'ev_01hzx5k8w40000000000000004', 'ws_01hzx5k8w40000000000000001', 2, '2026-01-02T03:04:05.000Z', 'workspace_created', 1, '{"task_id":"fix-login","agent_id":"main","workspace_path":"/home/user/.aw/workspaces/fix-login/main","config":{"max_size_mb":1024,"allowed_operations":["read","write"],"git_config":{"enabled":true,"user_name":"Agent","user_email":"agent@example.com"}},"created_at":"2026-11-15T09:00:00.000Z","imported":{"files":12,"bytes":34567,"reflinked":0,"skipped":1,"skipped_paths":[{"path":"run/agent.sock","reason":"socket"}]}}', '{"actor":"user:1000","correlation_id":"cor_sample","causation_id":null,"operation":{"id":"op_01hzx5k8w40000000000000002","epoch":1}}', '646cd244a1718a465be76da9253bb69af8ea9d753427380b246ffc93f2148345');
INSERT INTO events (position, id, stream, version, at, type, schema, data, meta, hash) VALUES (4, 'ev_01hzx5k8w40000000000000005', 'ws_01hzx5k8w40000000000000001', 3, '2026-01-02T03:04:05.000Z', 'workspace_labelled', 1, '{"task_id":"fix-login","agent_id":"main","labels":{"team":"web","stage":"review"}}', '{"actor":"user:1000","correlation_id":"cor_sample","causation_id":null,"operation":null}', '79882483880e58ec0222f6019788e2345fb08e705502c9e20d5a775a49d3b277');
INSERT INTO streams (stream, version, hash) VALUES ('home', 1, '749b41704694047c36ab2c9517fc265a42c991e565ee00dbf7a6a985c790ea7b');
INSERT INTO streams (stream, version, hash) VALUES ('ws_01hzx5k8w40000000000000001', 3, '79882483880e58ec0222f6019788e2345fb08e705502c9e20d5a775a49d3b277');
INSERT INTO workspaces (id, task, agent, state, live, created_at, updated_at, version, in_operation, labels, data) VALUES ('ws_01hzx5k8w40000000000000001', 'fix-login', 'main', 'ready', 1, '2026-11-15T09:00:00.000Z', '2026-01-02T03:04:05.000Z', 3, 0, '{"team":"web","stage":"review"}', '{"id":"ws_01hzx5k8w40000000000000001","task":"fix-login","agent":"main","state":"ready","profile":"aw","source":{"kind":"folder","path":"/home/user/project"},"config":{"max_size_mb":1024,"allowed_operations":["read","write"],"git_config":{"enabled":true,"user_name":"Agent","user_email":"agent@example.com"}},"labels":{"team":"web","stage":"review"},"imported":{"files":12,"bytes":34567,"reflinked":0,"skipped":1,"skipped_paths":[{"path":"run/agent.sock","reason":"socket"}]},"path":"/home/user/.aw/workspaces/fix-login/main","driver":"dir","generation":1,"created_at":"2026-11-15T09:00:00.000Z","updated_at":"2026-01-02T03:04:05.000Z","operation":null,"trash":[],"problem":null,"version":3}');
INSERT INTO checkpoints (number, at, position, events, hash) VALUES (1, '2026-01-02T03:04:05.000Z', 3, 3, 'b5986051d084aad8a25ad803882bec109b6e0554f23cb6cbdcef24669754e50f');
