import BelfryTesting
import Foundation

/// The most that an attack may take, as docs/ThreatModel.md states it.
enum Bounds {
    /// Whether times are judged, by `HOSTILE_TIMES=1`: they need a machine on which nothing else runs. Else answers are.
    static let judgesTimes = ProcessInfo.processInfo.environment["HOSTILE_TIMES"] != nil
    /// Engines that an attack on what both share meets: both where times are judged or tests are thorough, elsewhere one, by turns.
    static func engines(turn: Int) -> [Engine] {
        judgesTimes || Thoroughness.isFull ? Engine.allCases : [Engine.allCases[turn % Engine.allCases.count]]
    }
    /// How large an attack is of so many: a third where answers are judged alone.
    static func size(_ full: Int) -> Int { judgesTimes || Thoroughness.isFull ? full : full / 3 }
    /// The most time that 99 of 100 answers to a bystander may take under an attack: ten times that of a quiet day, and a second, for
    /// which a busy machine may take a process's cores away.
    static func bystanderWait(_ quiet: Duration) -> Duration { quiet * 10 + .seconds(1) }
    /// CPU of a hostile request beside a flat one of the same length.
    static let costRatio = 5.0
    /// Bytes of memory that one connection may take, whatever is sent on it and whether or not it is read: a read of 64 KiB that
    /// waits, 1 KiB of it parsed, one response of 100 KB or so, and as much again for what the allocator keeps.
    static let bytesPerConnection = 393_216
    /// Bytes of memory that a list may take which is posted to the dashboard, with what the import of its rows takes.
    static let bytesOfPostedList = 64 * 1_048_576
    /// Bytes of memory that a process may gain without any attack, over all of a test: caches, arenas of new threads.
    static let bytesOfNoise = 12 * 1_048_576
}
