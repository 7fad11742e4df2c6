import BelfryService

extension PCF.Health {
    /// The three parts of the PCF service. The queue and the scheduler are in the database here.
    ///
    /// The endpoint is public, so the texts are fixed: the log and the management port have the details.
    init(hasDatabase: Bool, schedulesAreLate: Bool) {
        guard hasDatabase else {
            let part = Part(isHealthy: false, message: "The database cannot be used")
            self.init(database: part, queue: part, scheduler: part)
            return
        }
        self.init(
            database: Part(isHealthy: true, message: "Database is up"),
            queue: Part(isHealthy: true, message: "Queue is up"),
            scheduler: Part(
                isHealthy: !schedulesAreLate, message: schedulesAreLate ? "Schedules are late" : "Scheduler is up"))
    }
}
