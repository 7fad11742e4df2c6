import ArgumentParser
import BelfryService

/// The time for which a replaced secret is accepted beside the new one.
struct GraceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("For how long the old secret is taken too.", valueName: "seconds"))
    var grace: Int = 0

    func validate() throws {
        let most = Int(AdminKey.graceMax.components.seconds)
        guard (0...most).contains(grace) else { throw ValidationError("--grace has to be 0 to \(most)") }
    }

    /// Two secrets are taken at most: says so where a rotation ended the grace of the one before.
    static func warn(endedEarly end: String?) {
        guard let end else { return }
        Notice.show(
            "the secret before the one that is replaced now was to be taken until \(end): it is refused from now on, since no more than "
                + "two are taken at a time")
    }

    var duration: Duration { .seconds(grace) }
}
