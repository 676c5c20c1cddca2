# All three images with their labels; docs/how-to/run-on-one-host.md has the command.
variable "LATCHKEY_VERSION" { default = "1.0.0" }
variable "REVISION" { default = "unknown" }
variable "CREATED" { default = "" }
variable "SOURCE" { default = "" }

group "default" { targets = ["auth-api", "mailer-worker", "scriptify"] }

target "service" {
  name = service
  matrix = { service = ["auth-api", "mailer-worker", "scriptify"] }
  dockerfile = "services/${service}/Dockerfile"
  tags = ["latchkey/${service}:${LATCHKEY_VERSION}"]
  args = { VERSION = LATCHKEY_VERSION, REVISION = REVISION }
  labels = {
    "org.opencontainers.image.created" = CREATED
    "org.opencontainers.image.source" = SOURCE
  }
}
