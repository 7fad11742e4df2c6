import ArgumentParser
import BelfryCore

/// For how long a secret that is replaced is taken beside the new one.
struct GraceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("For how long the old secret is taken too.", valueName: "seconds"))
    var grace: Int = 0

    func validate() throws {
        let most = Int(AdminKey.graceMax.components.seconds)
        guard (0...most).contains(grace) else { throw ValidationError("--grace has to be 0 to \(most)") }
    }

    var duration: Duration { .seconds(grace) }
}
