package android.app.job;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;

public abstract class JobService extends Service {
    public final IBinder onBind(Intent intent) { return null; }
    public abstract boolean onStartJob(JobParameters parameters);
    public abstract boolean onStopJob(JobParameters parameters);
    public final void jobFinished(JobParameters parameters, boolean wantsAnother) {}
}
