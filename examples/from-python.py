"""aw from another program: arguments as a list, JSON back, errors by code."""

import json
import subprocess


class AwFailed(Exception):
    def __init__(self, exit_code, error):
        super().__init__(error["message"])
        self.exit_code = exit_code
        self.code = error["code"]


def aw(*arguments):
    done = subprocess.run(["aw", *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise AwFailed(done.returncode, json.loads(done.stderr.splitlines()[-1]))
    return json.loads(done.stdout)


workspace = aw("create", "--id", "python/agent", "--config", json.dumps({"max_size_mb": 500}))
print(workspace["workspace_id"], workspace["state"])

try:
    aw("create", "--id", "python/agent")
except AwFailed as failure:
    print(failure.code, failure.exit_code)

print([one["workspace_id"] for one in aw("list", "--task-id", "python")])
print(aw("destroy", "--id", "python/agent")["removed"])
print(aw("destroy", "--id", "python/agent", "--if-exists")["removed"])
