/// Batches of a platform that are claimed, loaded, sent and settled together: a full one, or many small ones.
///
/// A burst of small batches costs about as much as a full batch, and counts as one against the in-flight limits. So a
/// push to one device costs a share of a burst.
package struct Burst: Sendable, Hashable {
    /// The most bytes of content that are held in memory for a burst; only a single push may be longer.
    package static let contentBytesMax = 1 << 20

    /// A burst takes batches until it weighs this much.
    package let weightMax: Int

    package init(weightMax: Int = Batch.devicesMax) { self.weightMax = weightMax }

    /// The weight of a batch is the number of its devices. Each batch may bring a push of its own, so one of a single device
    /// weighs as much as one of two.
    package static let weightMin = 2

    package func weight(of batch: Batch) -> Int { min(max(batch.devices.count, Self.weightMin), weightMax) }

    /// The batches of a platform and a lane, split into bursts.
    package func runs(of batches: [Batch]) -> [[Batch]] {
        var runs: [[Batch]] = []
        var weight = weightMax
        for batch in batches {
            if weight < weightMax {
                runs[runs.count - 1].append(batch)
                weight += self.weight(of: batch)
            } else {
                runs.append([batch])
                weight = self.weight(of: batch)
            }
        }
        return runs
    }
}
