import Hummingbird

extension PCF {
    /// The health of the parts of the original service, as Belfry's corresponding parts report it.
    package struct Health: Sendable, Hashable {
        package let database: Part
        /// The part between acceptance and delivery: a message broker there, the database's batches here.
        package let queue: Part
        package let scheduler: Part

        package struct Part: Sendable, Hashable {
            package let isHealthy: Bool
            package let message: String

            package init(isHealthy: Bool, message: String) {
                self.isHealthy = isHealthy
                self.message = message
            }
        }

        package init(database: Part, queue: Part, scheduler: Part) {
            self.database = database
            self.queue = queue
            self.scheduler = scheduler
        }

        func response() -> Response {
            let isHealthy = [database, queue, scheduler].allSatisfy(\.isHealthy)
            return .object(status: isHealthy ? .ok : .serviceUnavailable) { json in
                json.part("database", database)
                json.part("rabbitmq", queue)
                json.part("scheduler-backend", scheduler)
            }
        }
    }

    static func versionReply() -> Response { .object { json in json.string("version", version) } }
}

extension JSONWriter {
    fileprivate mutating func part(_ key: StaticString, _ part: PCF.Health.Part) {
        object(key) { json in
            json.bool("healthy", part.isHealthy)
            json.string("message", part.message)
        }
    }
}
