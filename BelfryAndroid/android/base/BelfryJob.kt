package org.belfry.android

import android.app.job.JobInfo
import android.app.job.JobParameters
import android.app.job.JobScheduler
import android.app.job.JobService
import android.content.ComponentName
import android.content.Context
import org.belfry.BelfryError

/** Goes on with what is to do, once there is a network, also when the process has ended or the phone was started again. */
class BelfryJob : JobService() {
    override fun onStartJob(parameters: JobParameters): Boolean {
        BelfryPush.belfry.resume().whenComplete { _, error ->
            val isTemporary = (error?.cause ?: error).let { it is BelfryError && it.isTemporary }
            // What was noted meanwhile found this job waiting, and asked for no other.
            jobFinished(parameters, isTemporary || error == null && BelfryPush.belfry.waitingEvents > 0)
        }
        return true
    }

    /** The exchange goes on by itself; the system starts the job again later, which finds little left to do. */
    override fun onStopJob(parameters: JobParameters): Boolean = true

    companion object {
        /** `belf`, so that it is none of the app's own. */
        private const val ID = 0x62656c66

        fun schedule(context: Context, afterMilliseconds: Long) {
            val scheduler = context.getSystemService(JobScheduler::class.java)
            // A job that waits does everything; asked for again it would wait longer.
            if (scheduler.getPendingJob(ID) != null) return
            val job = JobInfo.Builder(ID, ComponentName(context, BelfryJob::class.java))
                .setMinimumLatency(afterMilliseconds)
                .setRequiredNetworkType(JobInfo.NETWORK_TYPE_ANY)
                .setBackoffCriteria(30_000, JobInfo.BACKOFF_POLICY_EXPONENTIAL)
                .setPersisted(true)
                .build()
            try {
                scheduler.schedule(job)
            } catch (error: IllegalStateException) {
                // The app has as many jobs of its own as Android allows; its next start goes on.
            } catch (error: SecurityException) {
                // The app's manifest takes a permission away. What came is shown all the same.
            }
        }
    }
}
