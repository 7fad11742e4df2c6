import BelfryAPI

extension PCFv1.Health {
    /// The three parts that the PCF service had. The queue and the scheduler live in the database here.
    ///
    /// Anybody may ask for it, so the words are fixed: what is wrong is for the log and the management port to say.
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
